package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Source yields the connection to serve. It is asked before every request, so
// that a sandbox that came back elsewhere is found under its new connection.
type Source func() (client.Connection, error)

// FromFile reads the connection file anew each time.
func FromFile(path string) Source {
	return func() (client.Connection, error) { return client.ReadConnection(path) }
}

// Fixed is always the same connection.
func Fixed(c client.Connection) Source {
	return func() (client.Connection, error) { return c, nil }
}

// link is the client of the present connection.
type link struct {
	source Source

	mu     sync.Mutex
	conn   client.Connection
	client *client.Client
}

func (l *link) get() (*client.Client, string, error) {
	conn, err := l.source()
	if err != nil {
		return nil, "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil && conn == l.conn {
		return l.client, conn.Service, nil
	}
	c, err := conn.Client()
	if err != nil {
		return nil, "", err
	}
	if l.client != nil {
		l.client.Close()
	}
	l.conn, l.client = conn, c
	return c, conn.Service, nil
}

func (l *link) service() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.Service
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Close()
	}
}

func (l *link) describe(ctx context.Context) (sdk.Interface, error) {
	client, name, err := l.get()
	if err != nil {
		return sdk.Interface{}, err
	}
	s, err := client.Services().Get(ctx, name)
	if err != nil {
		return sdk.Interface{}, explain(ctx, name, err)
	}
	if s.Interface == nil {
		return sdk.Interface{}, protocol.Errorf(protocol.Conflict, "the service %s is %s and has no functions to call yet", name, s.State)
	}
	return *s.Interface, nil
}

// mayReadLogs reports whether the connection may see what the service prints. Those
// that seer serve writes may not.
func (l *link) mayReadLogs(ctx context.Context) bool {
	_, err := l.logs(ctx, 0, io.Discard)
	return err == nil
}

// logs copies what the service has printed from an offset on.
func (l *link) logs(ctx context.Context, offset int64, w io.Writer) (int64, error) {
	client, name, err := l.get()
	if err != nil {
		return offset, err
	}
	return client.Services().Logs(ctx, name, offset, false, w, w)
}

// ask calls one of the functions that every service has.
func (l *link) ask(ctx context.Context, fn string, handleAbove *int64, args ...any) (client.Body, error) {
	c, name, err := l.get()
	if err != nil {
		return client.Body{}, err
	}
	answer, err := c.Calls().Do(ctx, client.CallRequest{
		Service: name, Function: fn, Args: args, CallOptions: protocol.CallOptions{HandleAbove: handleAbove},
	}, client.CallHandler{})
	return answer.Body, explain(ctx, name, err)
}

// explain says what a fault of the way to the service means for the caller.
func explain(ctx context.Context, service string, err error) error {
	var call *protocol.CallError
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &call):
		return err
	}
	switch protocol.CodeOf(err) {
	case protocol.NotFound:
		return fmt.Errorf("the service %s is not served any more; serve the interface again: %w", service, err)
	case protocol.Unauthorized, protocol.Forbidden:
		return fmt.Errorf("the token for the service %s was refused; serve the interface again for a new connection file: %w", service, err)
	case "", protocol.Unavailable:
		return fmt.Errorf("the sandbox of the service %s cannot be reached: it has ended or is starting again; call again later: %w", service, err)
	}
	return err
}
