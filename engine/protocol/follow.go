package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/seer-engine/seer/engine/protocol/value"
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
	c       *Client
	service string
	head    FrameHeader // of the call, or of the attach
	body    []byte
	handler CallHandler
	keep    bool // the end of the context is not the end of the call

	next  int       // the first event that has not been handled
	first time.Time // when the call was first sent; zero = never
	heard time.Time // when something last came
	large bool      // the answer holds much memory there
	told  bool      // that the call is cancelled
}

// follower names the call after the client, whose turns it shares.
func (c *Client) follower(r CallRequest, on CallHandler) (*follower, error) {
	if r.ID == "" {
		r.ID = callName(c.name, int(c.calls.Add(1)))
	}
	return newFollower(c, r, on)
}

func newFollower(c *Client, r CallRequest, on CallHandler) (*follower, error) {
	body, err := arguments(r)
	if err != nil {
		return nil, err
	}
	f := &follower{
		c: c, service: r.Service, body: body.Data, handler: on, next: max(r.From, 1), keep: r.Detach,
		head: FrameHeader{Kind: FrameCall, ID: r.ID, Fn: r.Function, CallOptions: r.CallOptions},
	}
	f.head.Tagged = body.Tagged
	f.head.Output = r.Output || on.Output != nil
	return f, nil
}

func (f *follower) run(ctx context.Context) (Answer, error) {
	f.heard = time.Now()
	for b := (backoff{}); ; {
		heard, next := f.heard, f.next
		answer, err := f.try(ctx)
		if err == nil || !f.again(ctx, &err) {
			return answer, err
		}
		if f.heard != heard {
			b.reset()
		}
		if f.next > next {
			continue
		}
		if b.wait(ctx) != nil {
			return answer, f.end(ctx)
		}
	}
}

// try follows the call over one connection, or over the runtime where there is no
// worker to connect to.
func (f *follower) try(ctx context.Context) (Answer, error) {
	for {
		conn, used, err := f.c.take(ctx, f.service)
		if err != nil && (f.sent() || f.head.Kind == FrameAttach) && saidNo(err) {
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
	var failed *CallError
	if (err == nil || errors.As(err, &failed)) && !conn.broken.Load() {
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
	var failed *CallError
	var theirs *itemError
	switch {
	case err == nil, errors.As(err, &failed):
		return answer, err
	case ctx.Err() != nil && !f.stays(ctx), errors.As(err, &theirs) && theirs.early:
		f.told = conn.tell(FrameCancel, f.head.ID) == nil
	}
	return answer, err
}

// stays reports whether the call goes on without its follower.
func (f *follower) stays(ctx context.Context) bool {
	return f.keep || errors.Is(context.Cause(ctx), errLeft)
}

func (f *follower) talk(conn *FrameConn) (Answer, error) {
	conn.unread = "" // the worker takes the next call for an ack
	h := f.head
	h.From = 0
	if f.next > 1 {
		h.From = f.next
	}
	if f.sent() && h.Kind == FrameCall {
		h.Age = max(time.Since(f.first).Seconds(), 0.001)
	}
	if !f.sent() {
		f.first = time.Now()
	}
	if err := WriteFrame(conn.conn, h, f.body); err != nil {
		return Answer{}, asCut(err)
	}
	answer, err := f.follow(conn.r, func(n int) error {
		return WriteFrame(conn.conn, FrameHeader{Kind: FrameMore, ID: f.head.ID, N: n}, nil)
	})
	conn.unread = f.head.ID
	if err == nil && f.large && conn.tell(FrameAck, f.head.ID) == nil {
		conn.unread = ""
	}
	return answer, err
}

// ackAbove is the size of an answer that is not kept until the next call.
const ackAbove = 64 << 10

// follow reads the frames of the call up to its last. used tells the worker that an
// item has been; nil where nobody wants to know.
func (f *follower) follow(r io.Reader, used func(n int) error) (Answer, error) {
	for {
		h, size, err := ReadFrameHeader(r)
		if err != nil {
			return Answer{}, asCut(noEOF(err))
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
		if h.Kind == FrameItem && used != nil {
			if err := used(h.N); err != nil {
				return Answer{}, asCut(err)
			}
		}
	}
}

// event handles one frame. Those that have been handled on an earlier connection are
// passed over.
func (f *follower) event(r io.Reader, h FrameHeader, size int64) (_ Answer, last bool, err error) {
	n := max(h.N, 1)
	switch {
	case h.Kind == FrameQueued:
		if f.handler.Queued != nil && h.Position != nil {
			f.handler.Queued(*h.Position)
		}
		return Answer{}, false, skipBody(r, size)
	case h.Kind == FrameWaiting:
		return Answer{}, false, asCut(errWaiting)
	case h.Kind == FrameResult:
		answer, err := f.result(r, h, size)
		if err == nil {
			f.handled(n)
		}
		return answer, err == nil, err
	case h.Kind == FrameError:
		if err := skipBody(r, size); err != nil {
			return Answer{}, false, asCut(err)
		}
		if h.Error == nil {
			return Answer{}, false, Errorf(Internal, "the worker sent an error without saying which")
		}
		return Answer{ID: f.head.ID, Seconds: h.Seconds}, true, h.Error
	case (h.Kind == FrameOutput || h.Kind == FrameItem) && n >= f.next:
		return Answer{}, false, f.piece(r, h, size, n)
	}
	return Answer{}, false, asCut(skipBody(r, size))
}

var errWaiting = errors.New("the time of the request is up")

func (f *follower) handled(n int) {
	f.next = n + 1
	if f.handler.Event != nil {
		f.handler.Event(n)
	}
}

func (f *follower) piece(r io.Reader, h FrameHeader, size int64, n int) error {
	data, err := readBody(r, size)
	if err != nil {
		return asCut(err)
	}
	if h.Kind == FrameOutput && f.handler.Output != nil {
		f.handler.Output(h.Stream, string(data))
	}
	if h.Kind == FrameItem && f.handler.Item != nil {
		if err := f.handler.Item(Body{Data: data, Tagged: h.Tagged}); err != nil {
			return &itemError{err: err, early: true}
		}
	}
	f.handled(n)
	return nil
}

// result reads the result, or has the handler read it.
func (f *follower) result(r io.Reader, h FrameHeader, size int64) (Answer, error) {
	f.large = size > ackAbove
	answer := Answer{ID: f.head.ID, Seconds: h.Seconds, Body: Body{Tagged: h.Tagged}}
	if f.handler.Result == nil {
		data, err := readBody(r, size)
		answer.Data = data
		return answer, asCut(err)
	}
	in := &pieceReader{r: r, left: size}
	err := f.handler.Result(h.Tagged, size, in)
	switch {
	case in.err != nil:
		return answer, asCut(in.err)
	case err != nil:
		return answer, &itemError{err: err}
	}
	return answer, asCut(skipBody(r, in.left))
}

// arguments are what a call takes, as they travel. What encoding/json writes as it is
// meant takes the short way.
func arguments(r CallRequest) (Body, error) {
	if r.Body != nil {
		return *r.Body, nil
	}
	args, kwargs := r.Args, r.Kwargs
	if args == nil {
		args = []any{}
	}
	if kwargs == nil {
		kwargs = map[string]any{}
	}
	if simple(args, kwargs) {
		data, err := json.Marshal(callBody{Args: args, Kwargs: kwargs})
		if err != nil {
			return Body{}, Errorf(Invalid, "the arguments of %s cannot be written as JSON: %v", r.Function, err)
		}
		return Body{Data: data}, nil
	}
	v, err := value.Arguments(args, kwargs)
	if err != nil {
		return Body{}, Errorf(Invalid, "the arguments of %s cannot be sent: %v", r.Function, err)
	}
	return Body{Data: v.Bytes(), Tagged: v.Tagged}, nil
}

// simple reports whether there are only values without tags.
func simple(args []any, kwargs map[string]any) bool {
	for _, v := range args {
		if !simpleValue(v) {
			return false
		}
	}
	for _, v := range kwargs {
		if !simpleValue(v) {
			return false
		}
	}
	return true
}

func simpleValue(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, int, int64, json.Number:
		return true
	case json.RawMessage:
		return !bytes.Contains(v, []byte(value.Tag))
	}
	return false
}

type callBody struct {
	Args   []any          `json:"args"`
	Kwargs map[string]any `json:"kwargs"`
}
