// Package client is the engine's end of the protocol: it talks to the runtime on a machine.
// It holds the [Client], and the connection and session files that say where a runtime is
// and which token opens it. Package protocol has what both ends share, and
// docs/protocol.md is the specification.
//
// Beside packages of the protocol and internal/retry it needs the standard library and
// golang.org/x/sys only, because programs that embed the engine import it.
package client

import (
	"context"
	"net"
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
)

// Client talks to the runtime of one machine. Its token decides what it may do. It is safe
// for concurrent use and keeps its connections until Close. Through a tunnel, which http://
// and https:// mean, its connections survive being cut; see package resumable.
//
// Its own methods are about the machine as a whole. What is on the machine has clients of its
// own, which cost nothing to make: [Client.Files], [Client.Processes], [Client.Services],
// [Client.Calls], [Client.Tokens], [Client.Sessions] and [Client.Downloads].
//
// An answer other than success is a [*protocol.Error]; a call that failed in the
// sandbox is a [*protocol.CallError].
type Client struct {
	*transport
	calls *Calls
}

// New makes a client for an endpoint: unix:/path, http://host:port or
// https://host. It does not connect yet.
func New(endpoint, token string) (*Client, error) {
	t, err := newTransport(endpoint, token)
	if err != nil {
		return nil, err
	}
	return &Client{transport: t, calls: &Calls{transport: t, name: protocol.NewID("c")}}, nil
}

// Files is the client of the machine's files.
func (c *Client) Files() Files { return Files{c.transport} }

// Processes is the client of the machine's processes.
func (c *Client) Processes() Processes { return Processes{c.transport} }

// Services is the client of the machine's services.
func (c *Client) Services() Services { return Services{c.transport} }

// Calls is the client of the functions of services.
func (c *Client) Calls() *Calls { return c.calls }

// Tokens is the client of the tokens of services.
func (c *Client) Tokens() Tokens { return Tokens{c.transport} }

// Sessions is the client of the machine's session tokens.
func (c *Client) Sessions() Sessions { return Sessions{c.transport} }

// Downloads is the client of what the machine downloads by itself.
func (c *Client) Downloads() Downloads { return Downloads{c.transport} }

// Mend sets f, which repairs a machine at whose address nobody listens. If f reports
// success, the client connects once more. Call Mend before the first request.
func (c *Client) Mend(f func(context.Context) bool) { c.mend = f }

// Fate sets f, which asks the provider of a machine whether it has ended, and is nil unless that is
// known. It is called while a tunnel does not get through, at most every few seconds. What waits for
// the machine then fails at once with f's error, and [Ended] is true for it. Call Fate before the
// first request.
func (c *Client) Fate(f func(context.Context) error) { c.fate = &fate{ask: f, pause: fatePause} }

// AwaitEnd waits until the provider says why the machine has ended, and returns that. It is for a
// machine that is ending: see [protocol.Process.MachineEnds]. It returns nil if ctx ends before.
func (c *Client) AwaitEnd(ctx context.Context) error { return c.fate.await(ctx) }

// Endpoint is where the client's runtime is.
func (c *Client) Endpoint() string { return c.endpoint.text }

// Dial makes a connection that speaks the runtime's HTTP. Requests on it carry
// their own tokens. ctx limits the dialling alone.
func (c *Client) Dial(ctx context.Context) (net.Conn, error) {
	return c.connect(ctx)
}

// Close drops idle connections, tells workers that their answers have arrived, and waits up to
// a second for a tunnel to say so. Requests under way are not touched.
func (c *Client) Close() {
	c.calls.empty()
	c.http.CloseIdleConnections()
	c.drain()
	c.plain.CloseIdleConnections()
}

// Health asks the runtime how it is.
func (c *Client) Health(ctx context.Context) (protocol.Health, error) {
	var h protocol.Health
	return h, c.json(ctx, http.MethodGet, "/v1/health", nil, nil, &h)
}

// PutConfig replaces the machine's configuration.
func (c *Client) PutConfig(ctx context.Context, cfg protocol.Config) error {
	return c.json(ctx, http.MethodPut, "/v1/config", nil, cfg, nil)
}

// Config reads the machine's configuration, without secret values.
func (c *Client) Config(ctx context.Context) (protocol.ConfigInfo, error) {
	var info protocol.ConfigInfo
	return info, c.json(ctx, http.MethodGet, "/v1/config", nil, nil, &info)
}

// Lease reads the machine's lease.
func (c *Client) Lease(ctx context.Context) (protocol.Lease, error) {
	var l protocol.Lease
	return l, c.json(ctx, http.MethodGet, "/v1/lease", nil, nil, &l)
}

// PutLease takes or renews the machine's lease.
func (c *Client) PutLease(ctx context.Context, req protocol.LeaseRequest) (protocol.Lease, error) {
	var l protocol.Lease
	return l, c.json(ctx, http.MethodPut, "/v1/lease", nil, req, &l)
}

// Shutdown ends every process of the machine and then the runtime.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.json(ctx, http.MethodPost, "/v1/shutdown", nil, nil, nil)
}

// Usage reads what the machine uses.
func (c *Client) Usage(ctx context.Context) (protocol.Usage, error) {
	var u protocol.Usage
	return u, c.json(ctx, http.MethodGet, "/v1/usage", nil, nil, &u)
}
