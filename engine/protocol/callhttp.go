package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The content types and headers of calls over HTTP.
const (
	ContentFrames     = "application/vnd.seer.frames"
	ContentValue      = "application/vnd.seer.value"
	HeaderCallID      = "Seer-Call-Id"
	HeaderCallOptions = "Seer-Call-Options"
	HeaderCallDone    = "Seer-Call-Done"
)

// Submit makes a call that goes on with nobody waiting, and returns once the sandbox
// has it. [Client.Attach] follows it, from anywhere.
func (c *Client) Submit(ctx context.Context, r CallRequest) (Call, error) {
	r.Detach = true
	f, err := c.follower(r, CallHandler{})
	if err != nil {
		return Call{}, err
	}
	first := time.Now()
	for b, tries := (backoff{}), 0; ; tries++ {
		if tries > 0 {
			f.head.Age = max(time.Since(first).Seconds(), 0.001)
		}
		call, err := c.submit(ctx, f)
		if err == nil || !passing(err) || Ended(err) || time.Since(first) > beginPatience {
			return call, err
		}
		if werr := b.wait(ctx); werr != nil {
			return Call{}, werr
		}
	}
}

func (c *Client) submit(ctx context.Context, f *follower) (Call, error) {
	options, err := json.Marshal(f.head.CallOptions)
	if err != nil {
		return Call{}, err
	}
	path := servicePath(f.service) + "/call/" + url.PathEscape(f.head.Fn)
	req, err := c.request(ctx, http.MethodPost, path, url.Values{"wait": {"0"}}, bytes.NewReader(f.body))
	if err != nil {
		return Call{}, err
	}
	req.Header.Set("Content-Type", ContentValue)
	req.Header.Set(HeaderCallID, f.head.ID)
	req.Header.Set(HeaderCallOptions, string(options))
	resp, err := c.send(req)
	var failed *CallError
	if errors.As(err, &failed) && failed.Code != CallRefused && failed.Code != CallBusy {
		return Call{ID: f.head.ID, Function: f.head.Fn, State: CallFailed, Detached: true, Error: failed}, nil // already
	}
	if err != nil {
		return Call{}, err
	}
	defer drain(resp.Body)
	call := Call{ID: f.head.ID, Function: f.head.Fn, State: CallDone, Detached: true}
	if resp.StatusCode != http.StatusAccepted {
		return call, nil
	}
	var state struct {
		State    CallState `json:"state"`
		Position *int      `json:"position"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		return call, asCutAnswer(err)
	}
	call.State, call.Position = state.State, state.Position
	return call, nil
}

// asCutAnswer makes an answer that breaks off one that may be asked for again.
func asCutAnswer(err error) error {
	return Errorf(Unavailable, "the answer of the sandbox broke off: %v", err)
}

// Calls lists the calls of a service that the client's token may see, oldest first.
func (c *Client) Calls(ctx context.Context, service string) ([]Call, error) {
	var list struct {
		Calls []Call `json:"calls"`
	}
	return list.Calls, c.json(ctx, http.MethodGet, servicePath(service)+"/calls", nil, nil, &list)
}

// CallState reads the state of one call. One that is not known is a [*CallError] with
// code [CallUnknown].
func (c *Client) CallState(ctx context.Context, service, id string) (Call, error) {
	var list struct {
		Calls []Call `json:"calls"`
	}
	err := c.json(ctx, http.MethodGet, servicePath(service)+"/calls", url.Values{"id": {id}}, nil, &list)
	if err != nil {
		return Call{}, err
	}
	for _, call := range list.Calls {
		if call.ID == id {
			return call, nil
		}
	}
	return Call{}, &CallError{Code: CallUnknown, Message: fmt.Sprintf("the service %s knows no call %s: it has never been made, or its answer is not kept any more", service, id)}
}

// CancelCall ends a call wherever it is, and gives up the answer of one that has
// ended. A call that nobody knows is no error.
func (c *Client) CancelCall(ctx context.Context, service, id string) error {
	err := c.json(ctx, http.MethodDelete, callPath(service, id), nil, nil, nil)
	if errors.Is(err, &Error{Code: NotFound}) || errors.Is(err, &CallError{Code: CallUnknown}) {
		return nil
	}
	return err
}

// ask follows a call through the runtime, which knows what became of it where there
// is no worker any more. no is why the worker could not be asked.
func (f *follower) ask(ctx context.Context, no error) (Answer, error) {
	q := url.Values{"from": {strconv.Itoa(f.next)}, "wait": {strconv.Itoa(int(followWait / time.Second))}}
	req, err := f.c.request(ctx, http.MethodGet, callPath(f.service, f.head.ID), q, nil)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Accept", ContentFrames)
	resp, err := f.c.send(req)
	if CodeOf(err) == NotFound || errors.Is(err, &CallError{Code: CallUnknown}) {
		if f.head.Kind == FrameAttach {
			return Answer{}, err
		}
		return Answer{}, interrupted("the service went away during "+f.what(), no)
	}
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	return f.follow(resp.Body, nil)
}

func callPath(service, id string) string {
	return servicePath(service) + "/calls/" + url.PathEscape(id)
}
