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
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
	"github.com/seer-engine/seer/internal/retry"
)

// transport carries requests to the runtime of one machine. The client and its sub-clients
// share one.
type transport struct {
	endpoint endpoint
	token    string
	http     *http.Client // to the runtime
	plain    *http.Client // one short request each, for a loader
	dial     func(ctx context.Context) (net.Conn, error)
	mend     func(context.Context) bool // see [Client.Mend]; may be nil
	fate     *fate                      // see [Client.Fate]; nil = nobody is asked
	drain    func()                     // waits a moment for connections that are being closed
}

func newTransport(endpoint, token string) (*transport, error) {
	e, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	c := &transport{endpoint: e, token: token}
	if e.unix != "" {
		c.dial = func(ctx context.Context) (net.Conn, error) {
			return c.mended(ctx, func() (net.Conn, error) { return e.dialUnix(ctx) })
		}
		c.http = newHTTP(e.over(c.dial))
		c.plain = c.http
		c.drain = func() {}
		return c, nil
	}
	plain := e.transport()
	straight := plain.DialContext
	plain.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return c.mended(ctx, func() (net.Conn, error) { return straight(ctx, network, address) })
	}
	c.plain = newHTTP(plain)
	t := &tunnel{endpoint: e, token: token, http: c.plain, gone: func() error { return c.fate.known() }}
	c.dial, c.drain = t.dial, t.drain
	c.http = newHTTP(e.over(c.dial))
	return c, nil
}

// mended dials once more where nobody listens and that could be repaired.
func (c *transport) mended(ctx context.Context, dial func() (net.Conn, error)) (net.Conn, error) {
	conn, err := dial()
	if nobodyListens(err) && c.mend != nil && c.mend(ctx) {
		return dial()
	}
	return conn, err
}

// connect makes a connection that speaks the runtime's HTTP.
func (c *transport) connect(ctx context.Context) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err != nil && ctx.Err() == nil {
		err = c.unreachable(err)
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

// json sends in as JSON, where there is one, and decodes the answer into out.
func (c *transport) json(ctx context.Context, method, path string, q url.Values, in, out any) error {
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
	if err := decode(resp, out); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// list reads a list, which the answer has under key.
func list[T any](ctx context.Context, c *transport, path string, q url.Values, key string) ([]T, error) {
	var answer map[string]json.RawMessage
	if err := c.json(ctx, http.MethodGet, path, q, nil, &answer); err != nil || answer[key] == nil {
		return nil, err
	}
	var all []T
	if err := json.Unmarshal(answer[key], &all); err != nil {
		return nil, fmt.Errorf("read the answer to GET %s: %w", path, err)
	}
	return all, nil
}

// decode reads an answer into out, or drops it where that is nil, and closes it.
func decode(resp *http.Response, out any) error {
	defer drain(resp.Body)
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// do sends one request. The caller closes the body of a good answer.
func (c *transport) do(ctx context.Context, method, path string, q url.Values, body io.Reader) (*http.Response, error) {
	req, err := c.request(ctx, method, path, q, body)
	if err != nil {
		return nil, err
	}
	return c.send(req)
}

func (c *transport) request(ctx context.Context, method, path string, q url.Values, body io.Reader) (*http.Request, error) {
	return c.requestTo(ctx, insideBase, method, path, q, body)
}

func (c *transport) requestTo(ctx context.Context, base, method, path string, q url.Values, body io.Reader) (*http.Request, error) {
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

func (c *transport) send(req *http.Request) (*http.Response, error) { return c.sendBy(c.http, req) }

func (c *transport) sendBy(h *http.Client, req *http.Request) (*http.Response, error) {
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
func (c *transport) readError(resp *http.Response) error {
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

// newBackoff is for requests over a link, which is mostly there again at once.
func newBackoff() retry.Backoff { return retry.Backoff{Min: 10 * time.Millisecond, Max: time.Second} }
