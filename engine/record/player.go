package record

import (
	"fmt"
	"io"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/sdk"
)

// Player answers calls from a record. A call must have been made in the run with
// exactly the same arguments; one that was made several times gets the answers in the order in
// which they came, and where all were the same, as often as it likes. It is safe
// for concurrent use.
type Player struct {
	folder   *Folder
	services map[string]*played
}

// played is a service that is played.
type played struct {
	face sdk.Interface
	mu   sync.Mutex
	made map[string][]*Entry // by function and arguments, in the order of their beginnings
	next map[string]int
	ids  map[string]*Entry // what the calls of now got
	fns  map[string]int    // calls recorded of each function
}

// NewPlayer reads the record.
func NewPlayer(f *Folder) (*Player, error) {
	names, err := f.Services()
	if err != nil {
		return nil, err
	}
	entries, err := f.Entries()
	if err != nil {
		return nil, err
	}
	p := &Player{folder: f, services: map[string]*played{}}
	for _, name := range names {
		face, err := f.Interface(name)
		if err != nil {
			return nil, err
		}
		p.services[name] = &played{face: face, made: map[string][]*Entry{}, next: map[string]int{}, ids: map[string]*Entry{}, fns: map[string]int{}}
	}
	for i := range entries {
		e := &entries[i]
		if s := p.services[e.Service]; s != nil {
			s.fns[e.Function]++
			key := e.Function + " " + e.Arguments
			s.made[key] = append(s.made[key], e)
		}
	}
	return p, nil
}

// Services are the names of what is played.
func (p *Player) Services() []string {
	var names []string
	for name := range p.services {
		names = append(names, name)
	}
	return names
}

// Interface describes a service; false where the record has none of the name.
func (p *Player) Interface(service string) (sdk.Interface, bool) {
	s := p.services[service]
	if s == nil {
		return sdk.Interface{}, false
	}
	return s.face, true
}

// answer finds the recorded call for one that is made now. The name of a call gets the
// same answer again.
func (s *played) answer(id, fn string, arguments value.Value) (*Entry, *protocol.CallError) {
	hash, err := arguments.Hash()
	if err != nil {
		return nil, &protocol.CallError{Code: protocol.CallBadArguments, Message: fmt.Sprintf("the arguments of %s cannot be read: %v", fn, err)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.ids[id]; e != nil && id != "" {
		return e, nil
	}
	key := fn + " " + hash
	all, n := s.made[key], s.next[key]
	switch {
	case len(all) == 0:
		return nil, notRecorded("the record has no call of %s with these arguments (%s); it has %d of it with others", fn, shown(arguments), s.fns[fn])
	case n < len(all):
		s.next[key]++
	case !same(all):
		return nil, notRecorded("the record has %d calls of %s with these arguments (%s), with different answers, and this is one more", len(all), fn, shown(arguments))
	default:
		n = len(all) - 1
	}
	s.ids[id] = all[n]
	return all[n], nil
}

// notRecorded reads as an error of the function: a client that hears of an unknown
// call may ask again.
func notRecorded(format string, args ...any) *protocol.CallError {
	return &protocol.CallError{Code: protocol.CallRaised, Type: "LookupError", Message: fmt.Sprintf(format, args...)}
}

// same reports whether all calls had one and the same good answer.
func same(all []*Entry) bool {
	for _, e := range all {
		if e.State != protocol.CallDone || e.Result != all[0].Result || fmt.Sprint(e.Items) != fmt.Sprint(all[0].Items) {
			return false
		}
	}
	return true
}

// shown is a short text of arguments, for a sentence.
func shown(v value.Value) string {
	text, err := v.Plain(value.PlainOptions{Shorten: 64})
	if err != nil {
		return "unreadable"
	}
	if len(text) > 300 {
		return string([]rune(string(text[:300]))) + "…"
	}
	return string(text)
}

// event is one of what a call gets, from number 1 on.
type event struct {
	header protocol.FrameHeader
	body   string // hash of what is kept; empty = data
	data   []byte
}

// events are all that a recorded call got.
func (p *Player) events(id string, e *Entry, output bool) ([]event, error) {
	var out []event
	add := func(ev event) {
		ev.header.ID, ev.header.N = id, len(out)+1
		out = append(out, ev)
	}
	if e.Output != "" && output {
		texts, err := p.texts(e.Output)
		if err != nil {
			return changed(id, err), nil
		}
		for _, t := range texts {
			add(event{header: protocol.FrameHeader{Kind: protocol.FrameOutput, Stream: t.stream}, data: []byte(t.text)})
		}
	}
	tagged := protocol.CallOptions{Tagged: true}
	for _, hash := range e.Items {
		add(event{header: protocol.FrameHeader{Kind: protocol.FrameItem, CallOptions: tagged}, body: hash})
	}
	switch {
	case e.Result != "":
		add(event{header: protocol.FrameHeader{Kind: protocol.FrameResult, CallOptions: tagged, Seconds: e.Seconds}, body: e.Result})
	case e.Error != nil:
		add(event{header: protocol.FrameHeader{Kind: protocol.FrameError, Error: e.Error, Seconds: e.Seconds}})
	default:
		lost := &protocol.CallError{Code: protocol.CallInterrupted, Message: "the record has no answer to this call"}
		add(event{header: protocol.FrameHeader{Kind: protocol.FrameError, Error: lost}})
	}
	return p.unchanged(id, out), nil
}

func changed(id string, err error) []event {
	return []event{{header: protocol.FrameHeader{ID: id, N: 1, Kind: protocol.FrameError, Error: notRecorded("%v", err)}}}
}

// unchanged replaces an answer with an error unless all its values are as they were
// recorded. A client that gets no answer would ask again.
func (p *Player) unchanged(id string, events []event) []event {
	for _, ev := range events {
		if ev.body == "" {
			continue
		}
		f, err := p.folder.openBody(ev.body)
		if err != nil {
			return changed(id, err)
		}
		f.Close()
	}
	return events
}

type text struct {
	stream int
	text   string
}

func (p *Player) texts(hash string) ([]text, error) {
	v, err := p.folder.Body(hash)
	if err != nil {
		return nil, err
	}
	var pairs [][2]any
	if err := v.Decode(&pairs); err != nil {
		return nil, err
	}
	texts := make([]text, 0, len(pairs))
	for _, pair := range pairs {
		stream, _ := pair[0].(float64)
		said, _ := pair[1].(string)
		texts = append(texts, text{max(int(stream), 1), said})
	}
	return texts, nil
}

// write writes an event as a frame.
func (p *Player) write(w io.Writer, ev event) error {
	if ev.body == "" {
		return protocol.WriteFrame(w, ev.header, ev.data)
	}
	name, err := bodyName(ev.body)
	if err != nil {
		return err
	}
	f, err := p.folder.open(name)
	if err != nil {
		return fmt.Errorf("the record lacks a value: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := protocol.WriteFrameHeader(w, ev.header, info.Size()); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
