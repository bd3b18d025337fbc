package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
)

// Name is the file of a segment.
func Name(segment int) string { return fmt.Sprintf("%08d.seg", segment) }

// Segments are the numbers of those in a folder, in order. A folder that is not
// there has none.
func Segments(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var found []int
	for _, e := range entries {
		text, ok := strings.CutSuffix(e.Name(), ".seg")
		if n, err := strconv.Atoi(text); ok && err == nil && n > 0 && e.Name() == Name(n) {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found, nil
}

// Folder is what the journal of a service tells of its calls.
type Folder struct {
	dir   string
	calls map[string]*Entry
	order []*Entry
}

// Entry is what became of one call.
type Entry struct {
	protocol.Call
	Acked  bool
	Events []Event // until it is acknowledged
}

// Event is one of a call, in the order of their numbers.
type Event struct {
	protocol.FrameHeader
	Segment    int
	Body, Size int64
}

// Read goes through a folder. A record that is cut or damaged ends its segment: what
// was written before it counts.
func Read(dir string) (*Folder, error) {
	segments, err := Segments(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, calls: map[string]*Entry{}}
	for _, n := range segments {
		if err := f.read(n); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *Folder) read(segment int) error {
	file, err := os.Open(filepath.Join(f.dir, Name(segment)))
	if errors.Is(err, os.ErrNotExist) { // it was not needed any more
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	r := NewReader(file, 0)
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, ErrDamaged):
			return nil
		case err != nil:
			return err
		case rec.End() <= info.Size():
			f.add(segment, rec)
		}
	}
}

// Get is what is known of a call; nil where that is nothing.
func (f *Folder) Get(id string) *Entry { return f.calls[id] }

// All are the calls in the order in which they are first heard of.
func (f *Folder) All() []*Entry { return f.order }

func (f *Folder) entry(id string) *Entry {
	e := f.calls[id]
	if e == nil {
		e = &Entry{Call: protocol.Call{ID: id}}
		f.calls[id] = e
		f.order = append(f.order, e)
	}
	return e
}

func (f *Folder) add(segment int, r Record) {
	if r.Kind == protocol.FrameBegin {
		for _, k := range r.Known {
			// A segment that is gone may have told more than an earlier one that is still there.
			if e := f.entry(k.ID); e.State == "" || k.State != protocol.CallQueued && (e.State == protocol.CallQueued || e.State == protocol.CallRunning) {
				e.State = k.State
			}
		}
		return
	}
	if r.ID == "" {
		return
	}
	e := f.entry(r.ID)
	switch r.Kind {
	case protocol.FrameQueued:
		if e.State == protocol.CallRunning {
			return
		}
		e.begin(r, protocol.CallQueued)
		e.QueuedUnix = r.Time
	case protocol.FrameStarted:
		e.begin(r, protocol.CallRunning)
		e.Started = r.Time
		if e.QueuedUnix == 0 {
			e.QueuedUnix = r.Time
		}
	case protocol.FrameAcked:
		e.Acked, e.Events, e.Bytes = true, nil, 0
	case protocol.FrameRefused:
		e.begin(r, protocol.CallFailed)
		e.Ended = r.Time
		e.Error = &protocol.CallError{Code: protocol.CallRefused, Message: r.Reason}
	case protocol.FrameOutput, protocol.FrameItem, protocol.FrameResult, protocol.FrameError:
		e.event(segment, r)
	}
}

func (e *Entry) begin(r Record, state protocol.CallState) {
	e.State, e.Function, e.Token = state, r.Fn, r.Token
	e.Detached = e.Detached || r.Detach
	if r.Client != "" {
		e.Client = r.Client
	}
}

// event adds one. Of two ends the one that is an answer counts: a worker that was
// started beside another may have taken the other's calls for interrupted.
func (e *Entry) event(segment int, r Record) {
	if e.Acked {
		return
	}
	if last := len(e.Events) - 1; last >= 0 && e.Events[last].final() {
		if e.State != protocol.CallWasCut {
			return
		}
		e.Events = e.Events[:last]
	}
	e.Events = append(e.Events, Event{FrameHeader: r.FrameHeader, Segment: segment, Body: r.Body, Size: r.Size})
	e.Bytes += r.Size
	if r.Kind != protocol.FrameResult && r.Kind != protocol.FrameError {
		return
	}
	e.Ended, e.Seconds, e.Error = r.Time, r.Seconds, r.Error
	e.GPUBytes, e.GPUSeconds = r.GPUBytes, r.GPUSeconds
	e.State = stateOf(r.FrameHeader)
}

func stateOf(h protocol.FrameHeader) protocol.CallState {
	switch {
	case h.Kind == protocol.FrameResult:
		return protocol.CallDone
	case h.Error != nil && h.Error.Code == protocol.CallCancelled:
		return protocol.CallWasCancelled
	case h.Error != nil && h.Error.Code == protocol.CallInterrupted:
		return protocol.CallWasCut
	}
	return protocol.CallFailed
}

func (v Event) final() bool {
	return v.Kind == protocol.FrameResult || v.Kind == protocol.FrameError
}

// Open opens the body of an event. The whole of it is there.
func (f *Folder) Open(v Event) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(f.dir, Name(v.Segment)))
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, v.Body, v.Size), file}, nil
}

// Use is what the tokens of a service have been used for, as its journal tells; price
// is that of an hour.
func Use(dir string, price float64) (map[string]protocol.TokenUse, error) {
	segments, err := Segments(dir)
	use := map[string]protocol.TokenUse{}
	if err != nil || len(segments) == 0 {
		return use, err
	}
	file, err := os.Open(filepath.Join(dir, Name(segments[len(segments)-1])))
	if err != nil {
		return use, err
	}
	defer file.Close()
	r, owners := NewReader(file, 0), map[string]string{}
	for {
		rec, err := r.Next()
		if err != nil {
			return use, nil //nolint:nilerr // what is whole counts
		}
		count(use, owners, rec, price)
	}
}

func count(use map[string]protocol.TokenUse, owners map[string]string, r Record, price float64) {
	if r.Kind == protocol.FrameBegin {
		for token, u := range r.Use {
			use[token] = u
		}
		return
	}
	token := r.Token
	if token == "" {
		token = owners[r.ID]
	}
	u := use[token]
	switch r.Kind {
	case protocol.FrameStarted:
		owners[r.ID] = token
		u.Calls++
	case protocol.FrameRefused:
		u.Refused++
	case protocol.FrameResult, protocol.FrameError:
		u.Seconds += r.Seconds
		u.SpendUSD += r.Seconds * price / 3600
		delete(owners, r.ID)
	default:
		return
	}
	if token == "" {
		return
	}
	u.Last = max(u.Last, r.Time)
	use[token] = u
}
