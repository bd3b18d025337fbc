package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Services is the client of the services of a machine.
type Services struct{ *transport }

// Put begins to serve an interface under a name. An interface that was
// served under it stays until the new one is ready; see [Services.Wait].
func (c Services) Put(ctx context.Context, name string, spec protocol.ServiceSpec) (protocol.Service, error) {
	var s protocol.Service
	return s, c.json(ctx, http.MethodPut, servicePath(name), nil, spec, &s)
}

// Wait waits until a generation of a service is no longer loading. An
// interface that could not be loaded is a [*protocol.CallError].
func (c Services) Wait(ctx context.Context, name string, generation int) (protocol.Service, error) {
	q := url.Values{"wait": {strconv.Itoa(int(followWait / time.Second))}, "generation": {strconv.Itoa(generation)}}
	b := newBackoff()
	for last := time.Now(); ; {
		var s protocol.Service
		err := c.json(ctx, http.MethodGet, servicePath(name), q, nil, &s)
		switch {
		case err == nil && s.State == protocol.ServiceLoading:
			last = time.Now()
			b.Reset()
			continue
		case err == nil && s.State == protocol.ServiceFailed && s.Error != nil:
			return s, s.Error
		case err == nil || !passing(err) || Ended(err) || time.Since(last) > maxSilence:
			return s, err
		}
		if werr := b.Wait(ctx); werr != nil {
			return s, werr
		}
	}
}

// Get reads the state of a service. The service's own token is enough.
func (c Services) Get(ctx context.Context, name string) (protocol.Service, error) {
	var s protocol.Service
	return s, c.json(ctx, http.MethodGet, servicePath(name), nil, nil, &s)
}

// List lists the services of the machine, sorted by name.
func (c Services) List(ctx context.Context) ([]protocol.Service, error) {
	return list[protocol.Service](ctx, c.transport, "/v1/services", nil, "services")
}

// Delete stops a service and forgets it.
func (c Services) Delete(ctx context.Context, name string) error {
	return c.json(ctx, http.MethodDelete, servicePath(name), nil, nil, nil)
}

// Abandon gives up a generation that is still loading. The version that was served before
// stays.
func (c Services) Abandon(ctx context.Context, name string, generation int) error {
	q := url.Values{"generation": {strconv.Itoa(generation)}}
	return c.json(ctx, http.MethodDelete, servicePath(name), q, nil, nil)
}

// Logs copies what the worker of a service has printed, from byte offset of its log. With
// follow it continues until ctx ends. It returns the offset to continue with.
func (c Services) Logs(ctx context.Context, name string, offset int64, follow bool, stdout, stderr io.Writer) (int64, error) {
	next, _, err := c.records(ctx, servicePath(name)+"/logs", offset, follow, stdout, stderr)
	return next, err
}

// WaitChange waits until a service has other functions than those of the interface
// with the given code hash, and returns what it then is. The service's own token is
// enough.
func (c Services) WaitChange(ctx context.Context, name, codeHash string) (protocol.Service, error) {
	q := url.Values{"wait": {strconv.Itoa(int(followWait / time.Second))}, "unless": {codeHash}}
	for b, last := newBackoff(), time.Now(); ; {
		var s protocol.Service
		err := c.json(ctx, http.MethodGet, servicePath(name), q, nil, &s)
		switch {
		case err == nil && s.Interface != nil && s.Interface.CodeHash != codeHash:
			return s, nil
		case err == nil && time.Since(last) > time.Second:
			last = time.Now()
			b.Reset()
			continue
		case err == nil: // a runtime that does not wait
		case !passing(err) || Ended(err) || time.Since(last) > maxSilence:
			return s, err
		}
		if werr := b.Wait(ctx); werr != nil {
			return s, werr
		}
	}
}

func servicePath(name string) string { return "/v1/services/" + url.PathEscape(name) }
