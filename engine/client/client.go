package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
)

// Client talks to the runtime of one machine. What it may do is decided by its
// token. It is safe for concurrent use and keeps its connections until Close.
// Through a tunnel, which http:// and https:// mean, its connections survive being
// cut; see package resumable.
//
// An answer other than success is an [*protocol.Error]; a call that failed in the
// sandbox is a [*protocol.CallError].
type Client struct {
	endpoint endpoint
	token    string
	http     *http.Client // to the runtime
	plain    *http.Client // one short request each, for a loader
	dial     func(ctx context.Context) (net.Conn, error)
	mend     func(context.Context) bool // see [Client.Mend]; may be nil
	settle   func()                     // waits a moment for connections that are being closed

	name  string       // whose turns in a queue the calls share
	calls atomic.Int64 // that have been named
	pool  pool         // of connections to workers
}

// New makes a client for an endpoint: unix:/path, http://host:port or
// https://host. It does not connect yet.
func New(endpoint, token string) (*Client, error) {
	e, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{endpoint: e, token: token, name: protocol.NewID("c")}
	if e.unix != "" {
		c.dial = c.dialMended
		c.http = newHTTP(e.over(c.dial))
		c.plain = c.http
		c.settle = func() {}
		return c, nil
	}
	c.plain = newHTTP(e.transport())
	t := &tunnel{endpoint: e, token: token, http: c.plain}
	c.dial, c.settle = t.dial, t.settle
	c.http = newHTTP(e.over(c.dial))
	return c, nil
}

// Mend has f look after a machine at whose Unix socket nobody listens; where it reports
// that somebody does again, the connection is tried once more. It is for before the first
// request.
func (c *Client) Mend(f func(context.Context) bool) { c.mend = f }

func (c *Client) dialMended(ctx context.Context) (net.Conn, error) {
	conn, err := c.endpoint.dialUnix(ctx)
	if nobodyListens(err) && c.mend != nil && c.mend(ctx) {
		return c.endpoint.dialUnix(ctx)
	}
	return conn, err
}

func newHTTP(t *http.Transport) *http.Client {
	return &http.Client{
		Transport: t,
		// The token must not follow a redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Endpoint is where the client's runtime is.
func (c *Client) Endpoint() string { return c.endpoint.text }

// Dial makes a connection that speaks the runtime's HTTP. Requests on it carry
// their own tokens. ctx limits the dialling alone.
func (c *Client) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err != nil && ctx.Err() == nil {
		err = c.unreachable(err)
	}
	return conn, err
}

// Close drops idle connections, tells workers that their answers have arrived, and waits up to a second for a tunnel to say so.
// Requests under way are not touched.
func (c *Client) Close() {
	c.empty()
	c.http.CloseIdleConnections()
	c.settle()
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

// json sends in as JSON, where there is one, and decodes the answer into out.
func (c *Client) json(ctx context.Context, method, path string, q url.Values, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return protocol.Errorf(protocol.Invalid, "the request to %s cannot be written as JSON: %v", path, err)
		}
		body = bytes.NewReader(data)
	}
	resp, err := c.do(ctx, method, path, q, body)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// do sends one request. The caller closes the body of a good answer.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, body io.Reader) (*http.Response, error) {
	req, err := c.request(ctx, method, path, q, body)
	if err != nil {
		return nil, err
	}
	return c.send(req)
}

func (c *Client) request(ctx context.Context, method, path string, q url.Values, body io.Reader) (*http.Request, error) {
	return c.requestTo(ctx, insideBase, method, path, q, body)
}

func (c *Client) requestTo(ctx context.Context, base, method, path string, q url.Values, body io.Reader) (*http.Request, error) {
	u := base + path
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	return req, nil
}

func (c *Client) send(req *http.Request) (*http.Response, error) { return c.sendBy(c.http, req) }

func (c *Client) sendBy(h *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := h.Do(req)
	if err != nil {
		if ctxErr := req.Context().Err(); ctxErr != nil {
			return nil, ctxErr
		}
		return nil, c.unreachable(err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer drain(resp.Body)
	return nil, c.readError(resp)
}

// readError turns an answer that is no success into an error.
func (c *Client) readError(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if c.endpoint.unix == "" && resp.Header.Get(resumable.Marker) == "" {
		return &tunnelError{endpoint: c.endpoint.text, status: resp.StatusCode, body: data}
	}
	return errorIn(resp.StatusCode, data)
}

// errorIn reads the error in an answer of the runtime.
func errorIn(status int, data []byte) error {
	var body struct {
		Error struct {
			protocol.Error
			Type      string `json:"type"`
			Traceback string `json:"traceback"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil || body.Error.Code == "" {
		return protocol.Errorf(protocol.CodeOfStatus(status), "the sandbox answered with HTTP status %d: %.200s", status, bytes.TrimSpace(data))
	}
	e := body.Error
	if isCallCode(protocol.CallCode(e.Code)) {
		return &protocol.CallError{Code: protocol.CallCode(e.Code), Type: e.Type, Message: e.Message, Traceback: e.Traceback}
	}
	return &protocol.Error{Code: e.Code, Message: e.Message}
}

func isCallCode(c protocol.CallCode) bool {
	switch c {
	case protocol.CallRaised, protocol.CallLoadFailed, protocol.CallUnknownFunction, protocol.CallBadArguments, protocol.CallUnserialisable,
		protocol.CallTimeout, protocol.CallCancelled, protocol.CallInterrupted, protocol.CallExited, protocol.CallRefused, protocol.CallHandleGone, protocol.CallUnknown, protocol.CallBusy:
		return true
	}
	return false
}

// drain lets the connection be used again where little is left to read.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	body.Close()
}

// backoff waits a little longer each time, and says whether to go on.
type backoff struct{ next time.Duration }

func (b *backoff) wait(ctx context.Context) error {
	b.next = min(max(2*b.next, 10*time.Millisecond), time.Second)
	t := time.NewTimer(b.next)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (b *backoff) reset() { b.next = 0 }
