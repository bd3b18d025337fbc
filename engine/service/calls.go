package service

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// Call calls one function and decodes its result into out: a pointer to what
// encoding/json or package value can fill, a [*value.Value], or nil.
// When the function fails, the error is a [*protocol.CallError]; the function is
// never called twice. When ctx ends, the call is cancelled in the sandbox.
func (v *Service) Call(ctx context.Context, fn string, args []any, kwargs map[string]any, out any) error {
	answer, err := v.Do(ctx, client.CallRequest{Function: fn, Args: args, Kwargs: kwargs}, client.CallHandler{})
	if err != nil || out == nil {
		return err
	}
	if err := decode(answer.Body, out); err != nil {
		return errdefs.Wrap(errdefs.KindCall, fmt.Errorf("the result of %s.%s does not fit: %w", v.Name(), fn, err))
	}
	return nil
}

func decode(b client.Body, out any) error {
	if data := b.JSON(); data != nil && !b.Tagged {
		if _, whole := out.(*value.Value); !whole {
			return json.Unmarshal(data, out)
		}
	}
	got, err := b.Value()
	if err != nil {
		return err
	}
	if whole, ok := out.(*value.Value); ok {
		*whole = got
		return nil
	}
	return got.Decode(out)
}

// Do makes a call of the service and follows it to its end; see [client.Calls.Do].
func (v *Service) Do(ctx context.Context, r client.CallRequest, on client.CallHandler) (client.Answer, error) {
	r.Service = v.Name()
	answer, err := v.client.Calls().Do(ctx, r, on)
	return answer, errdefs.Wrap(errdefs.KindProvider, err)
}

// Start makes a call and follows it in the background.
func (v *Service) Start(ctx context.Context, r client.CallRequest, on client.CallHandler) (*client.PendingCall, error) {
	r.Service = v.Name()
	p, err := v.client.Calls().Start(ctx, r, on)
	return p, errdefs.Wrap(errdefs.KindProvider, err)
}

// Submit makes a call that goes on with nobody waiting for it, and returns once the
// sandbox has it.
func (v *Service) Submit(ctx context.Context, r client.CallRequest) (protocol.Call, error) {
	r.Service = v.Name()
	call, err := v.client.Calls().Submit(ctx, r)
	return call, errdefs.Wrap(errdefs.KindProvider, err)
}

// Attach follows a call of the service that somebody has made, whoever that was, from
// event number from on.
func (v *Service) Attach(ctx context.Context, id string, from int, on client.CallHandler) *client.PendingCall {
	return v.host.Runtime.Calls().Attach(ctx, v.Name(), id, from, on)
}

// Calls lists the calls of the service that are remembered, whoever made them.
func (v *Service) Calls(ctx context.Context) ([]protocol.Call, error) {
	calls, err := v.host.Runtime.Calls().List(ctx, v.Name())
	return calls, errdefs.Wrap(errdefs.KindProvider, err)
}

// Cancel ends a call of the service wherever it is, whoever made it.
func (v *Service) Cancel(ctx context.Context, id string) error {
	return errdefs.Wrap(errdefs.KindProvider, v.host.Runtime.Calls().Cancel(ctx, v.Name(), id))
}
