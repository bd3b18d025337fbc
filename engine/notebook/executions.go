package notebook

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/retry"
)

// eventsWait is how long one request for events lasts: less than tunnels allow.
const eventsWait = 30 * time.Second

// Execution reads the state of an execution.
func (c *Client) Execution(ctx context.Context, id string) (Execution, error) {
	var e struct {
		Execution
		Wrapped *Execution `json:"execution"`
	}
	if err := c.json(ctx, request{method: http.MethodGet, path: executionPath(id), safe: true}, &e); err != nil || e.Wrapped == nil {
		return e.Execution, err
	}
	return *e.Wrapped, nil
}

// Cancel interrupts an execution, or takes it out of the queue.
func (c *Client) Cancel(ctx context.Context, id string) error {
	return c.json(ctx, request{method: http.MethodDelete, path: executionPath(id)}, nil)
}

// Text reads a piece of what an execution has printed, as it came. size is that of the
// whole.
func (c *Client) Text(ctx context.Context, id string, offset, limit int64) (data []byte, size int64, err error) {
	q := url.Values{"offset": {strconv.FormatInt(offset, 10)}, "limit": {strconv.FormatInt(limit, 10)}}
	resp, err := c.do(ctx, request{method: http.MethodGet, path: executionPath(id) + "/text", query: q, safe: true})
	if err != nil {
		return nil, 0, err
	}
	defer drain(resp.Body)
	if data, err = io.ReadAll(io.LimitReader(resp.Body, limit)); err != nil {
		return nil, 0, fmt.Errorf("read the output of the execution %s: %w", id, err)
	}
	size, err = strconv.ParseInt(resp.Header.Get("X-Seer-Size"), 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("the notebook service does not say how long the output of the execution %s is", id)
	}
	return data, size, nil
}

// Events yields what happens in an execution from event number from on, as it comes,
// up to its end, which is the last. Cuts of the connection are not seen: each event is told once. An error
// is the last as well.
func (c *Client) Events(ctx context.Context, id string, from int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{client: c, id: id, next: from, heard: time.Now(), pause: newBackoff()}
		if err := f.run(ctx, yield); err != nil && !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}

// Wait follows an execution to its end.
func (c *Client) Wait(ctx context.Context, id string) (Execution, error) {
	for e, err := range c.Events(ctx, id, 0) {
		if err != nil {
			return Execution{}, err
		}
		if e.Type == EventEnd && e.Execution != nil {
			return *e.Execution, nil
		}
	}
	return Execution{}, fmt.Errorf("the execution %s ended without saying how", id)
}

// errStopped is the reader's own wish.
var errStopped = errors.New("the reader has stopped")

type follower struct {
	client *Client
	id     string
	next   int
	heard  time.Time // when something was heard last
	pause  retry.Backoff
}

func (f *follower) run(ctx context.Context, yield func(Event, error) bool) error {
	for {
		end, err := f.once(ctx, yield)
		switch {
		case end || errors.Is(err, errStopped):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			f.heard = time.Now()
			f.pause.Reset()
			continue
		case !passing(err):
			return f.gone(err)
		case f.client.seen.over(err), time.Since(f.heard) > f.client.Patience:
			return f.client.explain(ctx, err)
		}
		if f.pause.Wait(ctx) != nil {
			return context.Cause(ctx)
		}
	}
}

// gone explains what an unknown execution means.
func (f *follower) gone(err error) error {
	if protocol.CodeOf(err) != protocol.NotFound {
		return err
	}
	return protocol.Errorf(protocol.NotFound, "the execution %s is not known any more: the Jupyter server has been started again, which ended its kernel, or a thousand later ones have ended (%v)", f.id, err)
}

// errSilent is a connection that is there and says nothing, as of a tunnel that hangs.
var errSilent = errors.New("nothing is heard of the notebook service")

// once makes one request for events, and reports whether the end was among them.
func (f *follower) once(ctx context.Context, yield func(Event, error) bool) (end bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var silent atomic.Bool
	watch := time.AfterFunc(f.client.Silence, func() { silent.Store(true); cancel() })
	defer watch.Stop()
	defer func() {
		if err != nil && !errors.Is(err, errStopped) && silent.Load() {
			err = &unreachable{errSilent}
		}
	}()
	q := url.Values{"from": {strconv.Itoa(f.next)}, "wait": {seconds(eventsWait)}}
	resp, err := f.client.once(ctx, request{method: http.MethodGet, path: executionPath(f.id) + "/events", query: q}, nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	d := json.NewDecoder(bufio.NewReaderSize(resp.Body, 64<<10))
	answer, _ := resp.Body.(*bounded)
	answer.heard = func() { // a large event may take longer than a silence
		f.heard = time.Now()
		watch.Reset(f.client.Silence)
	}
	for {
		var e Event
		answer.left = f.client.MaxAnswer // of each event: there may be any number of them
		switch err := d.Decode(&e); {
		case errors.Is(err, errTooMuch):
			return false, protocol.Errorf(protocol.Internal, "the events of the execution %s: %v", f.id, err)
		case err != nil && !isSyntax(err):
			return false, &unreachable{fmt.Errorf("the events broke off: %w", err)}
		case err != nil:
			return false, protocol.Errorf(protocol.Internal, "the events of the execution %s cannot be read: %v", f.id, err)
		case e.Type == "waiting":
			return false, nil
		case e.N < f.next: // told before
			continue
		}
		f.next = e.N + 1
		f.pause.Reset()
		watch.Stop()
		if !yield(e, nil) {
			return true, errStopped
		}
		watch.Reset(f.client.Silence)
		if e.Type == EventEnd {
			return true, nil
		}
	}
}

// isSyntax reports whether an answer is wrong, and not only cut.
func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &kind) || errors.As(err, &syntax)
}

func executionPath(id string) string { return "/executions/" + url.PathEscape(id) }
