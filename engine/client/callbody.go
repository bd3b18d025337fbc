package client

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

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
)

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
			return Body{}, protocol.Errorf(protocol.Invalid, "the arguments of %s cannot be written as JSON: %v", r.Function, err)
		}
		return Body{Data: data}, nil
	}
	v, err := value.Arguments(args, kwargs)
	if err != nil {
		return Body{}, protocol.Errorf(protocol.Invalid, "the arguments of %s cannot be sent: %v", r.Function, err)
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

// List lists the calls of a service that the client's token may see, oldest first.
func (c *Calls) List(ctx context.Context, service string) ([]protocol.Call, error) {
	return list[protocol.Call](ctx, c.transport, servicePath(service)+"/calls", nil, "calls")
}

// Get reads the state of one call. One that is not known is a [*protocol.CallError] with
// code [protocol.CallUnknown].
func (c *Calls) Get(ctx context.Context, service, id string) (protocol.Call, error) {
	calls, err := list[protocol.Call](ctx, c.transport, servicePath(service)+"/calls", url.Values{"id": {id}}, "calls")
	if err != nil {
		return protocol.Call{}, err
	}
	for _, call := range calls {
		if call.ID == id {
			return call, nil
		}
	}
	return protocol.Call{}, &protocol.CallError{Code: protocol.CallUnknown, Message: fmt.Sprintf("the service %s knows no call %s: it has never been made, or its answer is not kept any more", service, id)}
}

// Cancel ends a call that is queued or runs, and discards the answer of one that has ended.
// An unknown call is not an error.
func (c *Calls) Cancel(ctx context.Context, service, id string) error {
	err := c.json(ctx, http.MethodDelete, callPath(service, id), nil, nil, nil)
	if errors.Is(err, &protocol.Error{Code: protocol.NotFound}) || errors.Is(err, &protocol.CallError{Code: protocol.CallUnknown}) {
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
	req.Header.Set("Accept", value.MediaTypeFrames)
	resp, err := f.c.send(req)
	if protocol.CodeOf(err) == protocol.NotFound || errors.Is(err, &protocol.CallError{Code: protocol.CallUnknown}) {
		if f.head.Kind == protocol.FrameAttach {
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
