package client

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"sync/atomic"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// CallRequest is a call to be made.
type CallRequest struct {
	Service  string
	Function string
	Args     []any          // Go values, or those of package value
	Kwargs   map[string]any // the same
	Body     *Body          // the arguments as they travel, instead of Args and Kwargs
	ID       string         // the call's name: the same one never runs twice; default: made
	Keep     bool           // the answer is kept for some time after it has arrived, for clients that ask again
	protocol.CallOptions
}

// Body is a VALUE of docs/protocol.md as it travels; package value reads and
// writes it.
type Body struct {
	Data   []byte
	Tagged bool // there are tags in it
}

// JSON is the JSON of the value, with its tags. It is nil where there are buffers
// behind it, which only package value can read.
func (b Body) JSON() json.RawMessage {
	if len(b.Data) > 0 && b.Data[0] == 0 {
		return nil
	}
	return b.Data
}

// Answer is how a call ended.
type Answer struct {
	Body            // empty where [CallHandler.Result] has read it
	ID      string  // of the call
	Seconds float64 // that the function ran
}

// CallHandler hears of a call while it is followed. All its functions may be nil;
// they are called one after the other, and the next event waits for them.
type CallHandler struct {
	// Queued receives the number of calls before this one, if the wait takes a while.
	Queued func(position int)
	// Output gets what the function prints to stdout (1) or stderr (2), if the
	// request asks for it with CallOptions.Output.
	Output func(stream int, text string)
	// Item gets what a generator yields. An error of it cancels the call, and is
	// what the following ends with.
	Item func(Body) error
	// Result reads the body of the result, so that it need not be in memory. If the
	// connection breaks in the middle, it is called again from the beginning.
	Result func(tagged bool, size int64, body io.Reader) error
	// Event receives the number of every event after it has been handled, so that a later
	// Attach can continue after it.
	Event func(n int)
}

// Calls is the client of the functions that a machine serves. Its calls share turns in a
// queue and a pool of connections.
type Calls struct {
	*transport
	name string       // whose turns in a queue the calls share
	made atomic.Int64 // that have been named
	pool pool         // of connections to workers
}

// Do makes a call and follows it to its end. A connection that breaks is made
// again and the call, which has a name, taken up where it was: the answer is the one
// right answer, or an error. One that failed in the sandbox is a [*protocol.CallError], with code
// [protocol.CallInterrupted] where nobody can know what became of it. When ctx ends, the
// call is cancelled, unless it is detached.
func (c *Calls) Do(ctx context.Context, r CallRequest, on CallHandler) (Answer, error) {
	f, err := c.follower(r, on)
	if err != nil {
		return Answer{}, err
	}
	return f.run(ctx)
}

// Call is [Calls.Do] for JSON: the result with its tags, see package value.
func (c *Calls) Call(ctx context.Context, service, fn string, args []any, kwargs map[string]any) (json.RawMessage, error) {
	answer, err := c.Do(ctx, CallRequest{Service: service, Function: fn, Args: args, Kwargs: kwargs}, CallHandler{})
	if err != nil {
		return nil, err
	}
	return plainBody(answer.Body)
}

// Items makes a call of a generator and yields its items as they come. A caller that stops
// before the end cancels the call.
func (c *Calls) Items(ctx context.Context, r CallRequest, on CallHandler) iter.Seq2[Body, error] {
	return func(yield func(Body, error) bool) {
		on.Item = func(b Body) error {
			if !yield(b, nil) {
				return errEnough
			}
			return nil
		}
		if _, err := c.Do(ctx, r, on); err != nil && err != errEnough { //nolint:errorlint // it is returned as it is
			yield(Body{}, err)
		}
	}
}

// PendingCall is a call that is followed in the background. It is safe for concurrent
// use.
type PendingCall struct {
	calls    *Calls
	service  string
	id       string
	follower *follower
	leave    context.CancelCauseFunc
	done     chan struct{}
	answer   Answer
	err      error
}

// Start makes a call and follows it in the background; see [Calls.Do]. The functions of
// the handler are called by that.
func (c *Calls) Start(ctx context.Context, r CallRequest, on CallHandler) (*PendingCall, error) {
	f, err := c.follower(r, on)
	if err != nil {
		return nil, err
	}
	return c.pending(ctx, f), nil
}

// Attach follows a call that somebody has made, from event number from on: 1 is the
// first. A call that is not known is a [*protocol.CallError] with code [protocol.CallUnknown]. When
// ctx ends, only the following does.
func (c *Calls) Attach(ctx context.Context, service, id string, from int, on CallHandler) *PendingCall {
	f := &follower{
		c: c, service: service, handler: on, next: max(from, 1),
		head: protocol.FrameHeader{Kind: protocol.FrameAttach, ID: id},
	}
	f.keep.Store(true)
	return c.pending(ctx, f)
}

func (c *Calls) pending(ctx context.Context, f *follower) *PendingCall {
	ctx, leave := context.WithCancelCause(ctx)
	p := &PendingCall{calls: c, service: f.service, id: f.head.ID, follower: f, leave: leave, done: make(chan struct{})}
	go func() {
		defer leave(nil)
		defer close(p.done)
		p.answer, p.err = f.run(ctx)
	}()
	return p
}

// ID is the call's name.
func (p *PendingCall) ID() string { return p.id }

// Done is closed when the call has ended, or is not followed any more.
func (p *PendingCall) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the call. When ctx ends, only the waiting does.
func (p *PendingCall) Wait(ctx context.Context) (Answer, error) {
	select {
	case <-p.done:
		return p.answer, p.err
	default:
	}
	select {
	case <-p.done:
		return p.answer, p.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// Cancel ends the call, queued or running; [PendingCall.Wait] then returns how it ended.
func (p *PendingCall) Cancel(ctx context.Context) error {
	return p.calls.Cancel(ctx, p.service, p.id)
}

// Leave stops following the call without cancelling it. The call continues for as long as it
// lingers, or to its end if it is detached.
func (p *PendingCall) Leave() {
	p.leave(errLeft)
	<-p.done
}

// callName is the name of a client's call.
func callName(client string, n int) string { return client + "-" + strconv.Itoa(n) }

// plainBody is a result as JSON: with its tags, or as anybody can read it where there
// are buffers behind it.
func plainBody(b Body) (json.RawMessage, error) {
	if data := b.JSON(); data != nil {
		return data, nil
	}
	v, err := b.Value()
	if err != nil {
		return nil, err
	}
	return v.Plain(value.PlainOptions{Limit: plainLimit})
}

// plainLimit is far above what anybody wants to have as JSON.
const plainLimit = 256 << 20

// Value takes the body apart.
func (b Body) Value() (value.Value, error) { return value.Parse(b.Data, b.Tagged, value.Limits{}) }
