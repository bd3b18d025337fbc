package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Client talks to the runtime of one machine. What it may do is decided by its
// token. It is safe for concurrent use and keeps its connections until Close.
//
// An answer other than success is an [*Error]; a call that failed in the
// sandbox is a [*CallError].
type Client struct {
	endpoint  endpoint
	token     string
	transport *http.Transport
	http      *http.Client
}

// NewClient makes a client for an endpoint: unix:/path, http://host:port or
// https://host. It does not connect yet.
func NewClient(endpoint, token string) (*Client, error) {
	e, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	t := e.transport()
	return &Client{endpoint: e, token: token, transport: t, http: &http.Client{
		Transport: t,
		// The token must not follow a redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Endpoint is where the client's runtime is.
func (c *Client) Endpoint() string { return c.endpoint.text }

// Close drops idle connections. Requests under way are not touched.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Health asks the runtime how it is.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	return h, c.json(ctx, http.MethodGet, "/v1/health", nil, nil, &h)
}

// PutConfig replaces the machine's configuration.
func (c *Client) PutConfig(ctx context.Context, cfg Config) error {
	return c.json(ctx, http.MethodPut, "/v1/config", nil, cfg, nil)
}

// Config reads the machine's configuration, without secret values.
func (c *Client) Config(ctx context.Context) (ConfigInfo, error) {
	var info ConfigInfo
	return info, c.json(ctx, http.MethodGet, "/v1/config", nil, nil, &info)
}

// Lease reads the machine's lease.
func (c *Client) Lease(ctx context.Context) (Lease, error) {
	var l Lease
	return l, c.json(ctx, http.MethodGet, "/v1/lease", nil, nil, &l)
}

// PutLease takes or renews the machine's lease.
func (c *Client) PutLease(ctx context.Context, req LeaseRequest) (Lease, error) {
	var l Lease
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
			return Errorf(Invalid, "the request to %s cannot be written as JSON: %v", path, err)
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
	u := c.endpoint.base + path
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

func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
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
	return nil, readError(resp)
}

// unreachable keeps the cause in the chain and drops the noise of *url.Error.
func (c *Client) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &transportError{endpoint: c.endpoint.text, err: err}
}

// transportError is a request that got no answer.
type transportError struct {
	endpoint string
	err      error
}

func (e *transportError) Error() string {
	cause := e.err
	var op *net.OpError
	if errors.As(cause, &op) { // which would name the endpoint again
		cause = op.Err
	}
	return fmt.Sprintf("the sandbox at %s does not answer: %v", e.endpoint, cause)
}

func (e *transportError) Unwrap() error { return e.err }

// As presents the fault as an [*Error] with code [Unavailable], so that callers
// have one way of asking.
func (e *transportError) As(target any) bool {
	t, ok := target.(**Error)
	if ok {
		*t = &Error{Code: Unavailable, Message: e.Error()}
	}
	return ok
}

// readError turns an answer that is no success into an error. An answer without
// our body came from something in between, such as a tunnel.
func readError(resp *http.Response) error {
	var body struct {
		Error struct {
			Error
			Type      string `json:"type"`
			Traceback string `json:"traceback"`
		} `json:"error"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if json.Unmarshal(data, &body) != nil || body.Error.Code == "" {
		return Errorf(codeOfStatus(resp.StatusCode), "the sandbox answered %s: %.200s", resp.Status, bytes.TrimSpace(data))
	}
	e := body.Error
	if isCallCode(CallCode(e.Code)) {
		return &CallError{Code: CallCode(e.Code), Type: e.Type, Message: e.Message, Traceback: e.Traceback}
	}
	return &Error{Code: e.Code, Message: e.Message}
}

func isCallCode(c CallCode) bool {
	switch c {
	case CallRaised, CallLoadFailed, CallUnknownFunction, CallBadArguments, CallUnserialisable,
		CallTimeout, CallCancelled, CallInterrupted, CallExited:
		return true
	}
	return false
}

// passing reports whether a request may work when it is made again.
func passing(err error) bool {
	var t *transportError
	return errors.As(err, &t) || CodeOf(err) == Unavailable || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed)
}

// gone reports whether nobody listens at a Unix socket. The loader keeps it open
// while runtimes come and go, so the machine has ended.
func gone(err error) bool {
	var t *transportError
	return errors.As(err, &t) && strings.HasPrefix(t.endpoint, "unix:") &&
		(errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT))
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
