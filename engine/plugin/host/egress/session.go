package egress

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// maxAnswer is what one Wait returns at most, unless a single event is larger.
const maxAnswer = 4 << 20

// Session is the traffic of one call of a plugin: its streams and what happened to
// them. It is safe for concurrent use.
type Session struct {
	g      *Gateway
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	model  string // see ForModel
	once   sync.Once
	policy *policy
	checks sync.Mutex // of policy

	mu      sync.Mutex
	streams map[int64]*stream
	events  []event
	wake    chan struct{} // holds one when there may be events
	used    bool
}

// event is an [sdk.Event] and its payload.
type event struct {
	sdk.Event
	payload []byte
	st      *stream // of data
}

// Session begins a call. Its streams end with ctx, or with Close.
func (g *Gateway) Session(ctx context.Context) *Session {
	s := &Session{g: g, streams: map[int64]*stream{}, wake: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		s.cancel()
	}
	g.sessions[s] = struct{}{}
	return s
}

// Close ends what is left and returns when nothing of it runs any more.
func (s *Session) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.work.Wait()
	s.g.mu.Lock()
	delete(s.g.sessions, s)
	s.g.mu.Unlock()
}

// Used reports whether the call has opened a stream or waited for one: it then knows
// how to come to an end when it is asked to.
func (s *Session) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Cancel tells the guest that the engine has given up.
func (s *Session) Cancel() { s.emit(nil, event{Event: sdk.Event{Kind: sdk.EventCancel}}) }

// Settings are the values of the manifest's settings.
func (s *Session) Settings() (map[string]string, error) {
	p := s.rules()
	return p.values.texts(), p.values.err
}

// rules reads the user's values when they are first needed: most calls never do.
func (s *Session) rules() *policy {
	s.once.Do(func() {
		s.policy = s.g.newPolicy()
		s.policy.named = s.model
	})
	return s.policy
}

// permission searches the manifest, as far as the user has granted it, for the line that allows
// something.
func (s *Session) permission(what string, search func(*policy, sdk.Manifest) string) (line string, err error) {
	s.checks.Lock()
	defer s.checks.Unlock()
	p := s.rules()
	if p.values.err != nil {
		return "", p.values.err
	}
	if line := search(p, p.g.o.Manifest); line != "" {
		return line, nil
	}
	if asked := search(p, p.g.o.Asked); asked != "" {
		return "", p.g.notGranted(what, asked)
	}
	return "", sdk.Errorf(sdk.Unauthorized, "the manifest of plugin %s does not allow %s", p.g.id, what)
}

// open makes a stream. The limit of open ones is per session, for one call runs in an
// instance.
func (s *Session) open(seconds float64) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return nil, sdk.Errorf(sdk.Unavailable, "the call has ended")
	case len(s.streams) >= sdk.MaxStreams:
		return nil, sdk.Errorf(sdk.Invalid, "%d streams are open, which is the limit; close one", sdk.MaxStreams)
	}
	s.used = true
	st := newStream(s, seconds)
	s.streams[st.id] = st
	s.work.Add(1)
	return st, nil
}

// start runs the work of a stream that was opened.
func (s *Session) start(st *stream, run func()) {
	go func() {
		defer s.work.Done()
		defer st.cancel()
		run()
	}()
}

func (s *Session) stream(id int64) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

// Send is [sdk.HostStreamSend]. It never waits.
func (s *Session) Send(id int64, data []byte, flags uint32) int32 {
	st := s.stream(id)
	if st == nil {
		return sdk.SendOver
	}
	if flags&sdk.SendCancel != 0 {
		s.forget(id)
		st.cancel()
		return sdk.SendOK
	}
	return st.send(data, flags&sdk.SendData != 0, flags&sdk.SendEnd != 0)
}

// forget closes a stream for the guest, which wants to hear no more of it.
func (s *Session) forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
	s.events = slices.DeleteFunc(s.events, func(e event) bool { return e.Stream == id })
}

// Credit is [sdk.HostStreamCredit].
func (s *Session) Credit(id, bytes int64) {
	if st := s.stream(id); st != nil && bytes > 0 {
		st.grant(bytes)
	}
}

// emit queues an event, unless the guest has given its stream up. The last one closes
// the stream.
func (s *Session) emit(st *stream, e event) {
	e.Size = len(e.payload)
	s.mu.Lock()
	defer s.mu.Unlock()
	if st != nil {
		if s.streams[st.id] != st {
			return
		}
		e.Stream = st.id
		if e.Kind == sdk.EventEnd {
			delete(s.streams, st.id)
		}
	}
	s.events = append(s.events, e)
	signal(s.wake)
}

// Wait is [sdk.HostStreamWait]: it waits for events, no longer than the limit, and
// returns as many as there are, encoded; nil when there are none.
func (s *Session) Wait(limit time.Duration) []byte {
	timer := time.NewTimer(max(min(limit, s.g.limits.Wait), 0))
	defer timer.Stop()
	for {
		if out := s.take(); out != nil {
			return out
		}
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return nil
		case <-timer.C:
			return s.take()
		}
	}
}

func (s *Session) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	var out []byte
	for len(s.events) > 0 {
		e := s.events[0]
		if len(out) > 0 && len(out)+len(e.payload) > maxAnswer {
			break
		}
		s.events[0] = event{}
		s.events = s.events[1:]
		out = appendEvent(out, e)
		if e.st != nil {
			e.st.fetched()
		}
	}
	return out
}

func appendEvent(out []byte, e event) []byte {
	text, err := json.Marshal(e.Event)
	if err != nil { // numbers and strings
		panic(err)
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	return append(append(out, text...), e.payload...)
}
