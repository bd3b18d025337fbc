package egress

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// stream is one HTTP exchange or RPC: a bounded queue of what the guest sends, and
// the credit for what it receives.
type stream struct {
	id     int64
	s      *Session
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	queue    [][]byte
	queued   int  // bytes
	finished bool // nothing more will be put into the queue
	over     bool // nothing more will be taken out of it
	wantRoom bool
	credit   int64
	pending  atomic.Int32  // pieces that the guest has not fetched
	changed  chan struct{} // holds one when queue or finished changed
	granted  chan struct{} // holds one when credit came
}

const (
	maxQueued  = 64  // pieces from the guest
	maxPending = 256 // pieces for the guest, which may be empty and cost no credit
)

func newStream(s *Session, seconds float64) *stream {
	st := &stream{id: s.g.number.Add(1), s: s, credit: sdk.StreamWindow,
		changed: make(chan struct{}, 1), granted: make(chan struct{}, 1)}
	if seconds > 0 && seconds < longestKept.Seconds() {
		st.ctx, st.cancel = context.WithTimeout(s.ctx, time.Duration(seconds*float64(time.Second)))
	} else {
		st.ctx, st.cancel = context.WithCancel(s.ctx)
	}
	return st
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// send queues a piece. One that is larger than the window goes alone.
func (st *stream) send(data []byte, has, end bool) int32 {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.finished || st.over:
		return sdk.SendOver
	case has && (len(st.queue) >= maxQueued || st.queued > 0 && st.queued+len(data) > sdk.StreamWindow):
		st.wantRoom = true
		return sdk.SendFull
	case has:
		st.queue = append(st.queue, data)
		st.queued += len(data)
	}
	st.finished = end
	signal(st.changed)
	return sdk.SendOK
}

// next takes a piece out of the queue, waiting for one. At the end it gives io.EOF.
func (st *stream) next() ([]byte, error) {
	for {
		if data, ok, end := st.pop(); end {
			return nil, io.EOF
		} else if ok {
			return data, nil
		}
		select {
		case <-st.changed:
		case <-st.ctx.Done():
			return nil, st.ctx.Err()
		}
	}
}

func (st *stream) pop() (data []byte, ok, end bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.queue) == 0 {
		return nil, false, st.finished
	}
	data, st.queue = st.queue[0], st.queue[1:]
	st.queued -= len(data)
	if st.wantRoom && st.queued <= sdk.StreamWindow/2 && len(st.queue) <= maxQueued/2 {
		st.wantRoom = false
		st.s.emit(st, event{Event: sdk.Event{Kind: sdk.EventRoom}})
	}
	return data, true, false
}

// stopSending makes further sends answer that the stream is over.
func (st *stream) stopSending() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over, st.queue, st.queued = true, nil, 0
}

func (st *stream) grant(bytes int64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.credit = min(st.credit+min(bytes, 1<<40), 1<<40)
	signal(st.granted)
}

// allowance waits until the guest takes data, and says how much.
func (st *stream) allowance() (int64, error) {
	for {
		st.mu.Lock()
		n := st.credit
		st.mu.Unlock()
		if n > 0 && st.pending.Load() < maxPending {
			return n, nil
		}
		select {
		case <-st.granted:
		case <-st.ctx.Done():
			return 0, st.ctx.Err()
		}
	}
}

// data hands a payload to the guest, on its credit.
func (st *stream) data(payload []byte) {
	if len(payload) > 0 {
		st.mu.Lock()
		st.credit -= int64(len(payload))
		st.mu.Unlock()
	}
	st.pending.Add(1)
	st.s.emit(st, event{Event: sdk.Event{Kind: sdk.EventData}, payload: payload, st: st})
}

// write hands all of it to the guest, as the guest takes it. An error says that nobody listens
// any more.
func (st *stream) write(all []byte) error {
	for len(all) > 0 {
		n, err := st.allowance()
		if err != nil {
			return err
		}
		n = min(n, int64(len(all)), sdk.StreamWindow/4)
		st.data(all[:n])
		all = all[n:]
	}
	return nil
}

// fetched notes that the guest has a piece.
func (st *stream) fetched() {
	st.pending.Add(-1)
	signal(st.granted)
}

func (st *stream) fail(err *sdk.Error) {
	st.s.emit(st, event{Event: sdk.Event{Kind: sdk.EventEnd, Error: err}})
}

// bodyReader is what the guest sends, as the body of a request.
type bodyReader struct {
	st   *stream
	rest []byte
	sent atomic.Int64
}

func (r *bodyReader) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		var err error
		if r.rest, err = r.st.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	r.sent.Add(int64(n))
	return n, nil
}

func (r *bodyReader) Close() error { return nil }
