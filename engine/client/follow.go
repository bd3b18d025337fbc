package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

var (
	errEnough = errors.New("the caller has enough items")
	errLeft   = errors.New("the call is not followed any more")
)

// cutError is a connection that broke under a call.
type cutError struct{ err error }

func (e *cutError) Error() string { return "the connection broke: " + e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

// follower sees one call through to its end, over as many connections as it takes.
type follower struct {
	c       *Calls
	service string
	head    protocol.FrameHeader // of the call, or of the attach
	body    []byte
	handler CallHandler
	keep    atomic.Bool // the end of the context is not the end of the call
	unsaid  bool        // the worker is not told that the answer has arrived

	next  int       // the first event that has not been handled
	first time.Time // when the call was first sent; zero = never
	heard time.Time // when something last came
	large bool      // the answer holds much memory there
	told  bool      // that the call is cancelled

	between bool // two frames, so that what comes next can be read
}

// follower names the call after the client, whose turns it shares.
func (c *Calls) follower(r CallRequest, on CallHandler) (*follower, error) {
	if r.ID == "" {
		r.ID = callName(c.name, int(c.made.Add(1)))
	}
	return newFollower(c, r, on)
}

func newFollower(c *Calls, r CallRequest, on CallHandler) (*follower, error) {
	body, err := arguments(r)
	if err != nil {
		return nil, err
	}
	f := &follower{
		c: c, service: r.Service, body: body.Data, handler: on, next: max(r.From, 1), unsaid: r.Keep,
		head: protocol.FrameHeader{Kind: protocol.FrameCall, ID: r.ID, Fn: r.Function, CallOptions: r.CallOptions},
	}
	f.keep.Store(r.Detach)
	f.head.Tagged = body.Tagged
	f.head.Output = r.Output || on.Output != nil
	return f, nil
}

func (f *follower) run(ctx context.Context) (Answer, error) {
	f.heard = time.Now()
	for b := newBackoff(); ; {
		heard, next := f.heard, f.next
		answer, err := f.try(ctx)
		if err == nil || !f.again(ctx, &err) {
			return answer, err
		}
		if f.heard != heard {
			b.Reset()
		}
		if f.next > next {
			continue
		}
		if b.Wait(ctx) != nil {
			return answer, f.end(ctx)
		}
	}
}

// try follows the call over one connection, or over the runtime where there is no
// worker to connect to.
func (f *follower) try(ctx context.Context) (Answer, error) {
	for {
		conn, used, err := f.c.take(ctx, f.service)
		if err != nil && (f.sent() || f.head.Kind == protocol.FrameAttach) && saidNo(err) {
			return f.ask(ctx, err)
		}
		if err != nil {
			return Answer{}, err
		}
		heard := f.heard
		answer, err := f.on(ctx, conn)
		if f.leaves(conn, err) {
			f.c.give(f.service, conn)
		}
		var cut *cutError
		if used && errors.As(err, &cut) && ctx.Err() == nil && f.heard.Equal(heard) {
			continue // it had been closed before; that is no fault
		}
		return answer, err
	}
}

// leaves reports whether a connection is of use for another call, and closes it
// otherwise.
func (f *follower) leaves(conn *FrameConn, err error) bool {
	var failed *protocol.CallError
	if (err == nil || errors.As(err, &failed)) && !conn.broken.Load() && !f.unsaid {
		return true
	}
	conn.Close()
	return false
}

func (f *follower) sent() bool { return !f.first.IsZero() }

// on follows the call over one connection. An error of the connection is a
// [*cutError].
func (f *follower) on(ctx context.Context, conn *FrameConn) (Answer, error) {
	stop := context.AfterFunc(ctx, conn.interrupt)
	answer, err := f.talk(conn)
	if !stop() {
		conn.broken.Store(true) // its deadline may come any moment
	}
	var failed *protocol.CallError
	var theirs *itemError
	switch {
	case err == nil, errors.As(err, &failed):
		return answer, err
	case ctx.Err() != nil && !f.stays(ctx), errors.As(err, &theirs) && theirs.early:
		f.told = f.cancel(conn)
	}
	return answer, err
}

// cancelPatience is how long a cancelled call may take to end before its caller goes.
const cancelPatience = 500 * time.Millisecond

// cancel ends the call on its own connection and reports whether it has ended: a
// worker that writes just when its reader goes need not have read the word.
func (f *follower) cancel(conn *FrameConn) bool {
	if !f.between || conn.tell(protocol.FrameCancel, f.head.ID) != nil {
		return false
	}
	_ = conn.conn.SetDeadline(time.Now().Add(cancelPatience))
	for {
		h, size, err := protocol.ReadFrameHeader(conn.r)
		if err != nil || skipBody(conn.r, size) != nil {
			return false
		}
		if h.ID == f.head.ID && (h.Kind == protocol.FrameResult || h.Kind == protocol.FrameError) {
			return true
		}
	}
}

// stays reports whether the call goes on without its follower.
func (f *follower) stays(ctx context.Context) bool {
	return f.keep.Load() || errors.Is(context.Cause(ctx), errLeft)
}

func (f *follower) talk(conn *FrameConn) (Answer, error) {
	if err := f.send(conn); err != nil {
		return Answer{}, err
	}
	answer, err := f.follow(conn.r, func(n int) error {
		return protocol.WriteFrame(conn.conn, protocol.FrameHeader{Kind: protocol.FrameMore, ID: f.head.ID, N: n}, nil)
	})
	if f.unsaid {
		return answer, err
	}
	conn.unread = f.head.ID
	if err == nil && f.large && conn.tell(protocol.FrameAck, f.head.ID) == nil {
		conn.unread = ""
	}
	return answer, err
}

// send makes the call, or asks for what has come of it.
func (f *follower) send(conn *FrameConn) error {
	conn.unread = "" // the worker takes the next call for an ack
	h := f.head
	h.From = 0
	if f.next > 1 {
		h.From = f.next
	}
	if f.sent() && h.Kind == protocol.FrameCall {
		h.Age = max(time.Since(f.first).Seconds(), 0.001)
	}
	if !f.sent() {
		f.first = time.Now()
	}
	return asCut(protocol.WriteFrame(conn.conn, h, f.body))
}

// ackAbove is the size of an answer that is not kept until the next call.
const ackAbove = 64 << 10

// follow reads the frames of the call up to its last. used tells the worker that an
// item has been; nil where nobody wants to know.
func (f *follower) follow(r io.Reader, used func(n int) error) (Answer, error) {
	for {
		if ahead, ok := r.(*bufio.Reader); ok {
			f.between = true
			if _, err := ahead.Peek(protocol.FramePrefix); err != nil {
				return Answer{}, asCut(protocol.NoEOF(err))
			}
		}
		f.between = false
		h, size, err := protocol.ReadFrameHeader(r)
		if err != nil {
			return Answer{}, asCut(protocol.NoEOF(err))
		}
		f.heard = time.Now()
		if h.ID != "" && h.ID != f.head.ID { // late, of a call that was given up
			if err := skipBody(r, size); err != nil {
				return Answer{}, asCut(err)
			}
			continue
		}
		answer, last, err := f.event(r, h, size)
		if err != nil || last {
			return answer, err
		}
		if h.Kind == protocol.FrameItem && used != nil {
			if err := used(h.N); err != nil {
				return Answer{}, asCut(err)
			}
		}
	}
}
