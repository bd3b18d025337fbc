package notebook

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/retry"
)

// Client talks to the notebook service of one Jupyter server. It is safe for concurrent
// use. A request that nobody answered is made again for up to [Client.Patience], as far as a repeat
// is harmless; for 3 s where the socket of a server that has answered before is gone.
//
// An answer other than success is a [protocol.Error] with the service's own words.
type Client struct {
	address Address
	http    *http.Client
	seen    presence

	// Patience is how long a client tries to get through to a server that does not
	// answer. Change it before the first use.
	Patience time.Duration

	// Silence is how long a request for events may bring nothing until it is made again:
	// more than the 30 s after which the service says that nothing has happened. Change it
	// before the first use.
	Silence time.Duration

	// MaxAnswer is how many bytes an answer may have, and an event. Change it before the
	// first use.
	MaxAnswer int64
}

// NewClient makes a client. It does not connect yet.
func NewClient(a Address) *Client {
	return &Client{
		address: a, Patience: 2 * time.Minute, Silence: eventsWait + 15*time.Second, MaxAnswer: maxAnswer,
		http: &http.Client{
			Transport:     a.transport(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Address is where the server is.
func (c *Client) Address() Address { return c.address }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// NewKey makes a name for a request, so that a repeat is harmless.
func NewKey() string { return rand.Text() }

// request is one request to the service.
type request struct {
	method string
	path   string // below seer/v1; escaped
	query  url.Values
	body   any  // nil = none
	safe   bool // it may be made again although it may have arrived
}

// json makes a request and reads its answer.
func (c *Client) json(ctx context.Context, r request, into any) error {
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("the answer of the notebook service to %s %s cannot be read: %w", r.method, r.path, err)
	}
	return nil
}

// do makes a request until it is answered or patience is over. The caller closes the
// body.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	b := newBackoff()
	for start := time.Now(); ; {
		resp, err := c.once(ctx, r, body)
		again := passing(err) && (r.safe || neverSent(err))
		if err == nil || ctx.Err() != nil || !again || c.seen.over(err) || time.Since(start) > c.Patience {
			return resp, c.explain(ctx, err)
		}
		if b.Wait(ctx) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// newBackoff is for a Jupyter server, which may be starting again.
func newBackoff() retry.Backoff {
	return retry.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}
}

// once makes a request once.
func (c *Client) once(ctx context.Context, r request, body []byte) (*http.Response, error) {
	resp, err := c.try(ctx, r, body)
	if ctx.Err() == nil {
		c.seen.note(err)
	}
	return resp, err
}

func (c *Client) try(ctx context.Context, r request, body []byte) (*http.Response, error) {
	target := c.address.base() + "seer/v1" + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.address.Token)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	var ended *EndedError
	if errors.As(err, &ended) {
		return nil, remedy.For(ended.Why, ended.Remedies...)
	}
	if err != nil {
		return nil, &unreachable{err}
	}
	if resp.StatusCode < 300 || resp.StatusCode == http.StatusNotModified {
		resp.Body = &bounded{ReadCloser: resp.Body, left: c.MaxAnswer}
		return resp, nil
	}
	defer drain(resp.Body)
	return nil, c.refusal(resp)
}

// refusal is an answer other than success.
func (c *Client) refusal(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what has come is told
	var answer struct {
		Error *protocol.Error `json:"error"`
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if json.Unmarshal(data, &answer) == nil && answer.Error != nil && answer.Error.Code != "" && resp.StatusCode != http.StatusForbidden {
		return answer.Error
	}
	switch status := resp.StatusCode; {
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return remedy.For(protocol.Errorf(protocol.Forbidden, "the Jupyter server at %s refuses the token: it is wrong, or the server has been started again with another; use the present jupyter_url of the sandbox", c.address),
			remedy.Remedy{Action: remedy.ShowSandbox})
	case status == http.StatusNotFound, status >= 300 && status < 400, status == http.StatusMethodNotAllowed:
		return remedy.For(protocol.Errorf(protocol.Unsupported, "what answers at %s is not a Jupyter server of Seer: it has no notebook service (seer/v1); use the jupyter_url of a sandbox with execution_mode notebook, or start one", c.address),
			remedy.Remedy{Action: remedy.StartSandbox})
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout,
		status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return &unreachable{fmt.Errorf("the way to it answers %s", resp.Status)}
	case kind == "application/json":
		return protocol.Errorf(protocol.Internal, "the Jupyter server at %s answers %s: %s", c.address, resp.Status, bytes.TrimSpace(data[:min(len(data), 2000)]))
	}
	return protocol.Errorf(protocol.Internal, "the Jupyter server at %s answers %s", c.address, resp.Status)
}

// EndedError is what [Address].Dial returns where the server is known not to come back.
type EndedError struct {
	Why      *protocol.Error
	Remedies []remedy.Remedy
}

func (e *EndedError) Error() string { return e.Why.Message }
func (e *EndedError) Unwrap() error { return e.Why }

// Remedy implements [remedy.Carrier].
func (e *EndedError) Remedy() []remedy.Remedy { return e.Remedies }

// unreachable is a request that the service did not answer.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

// passing reports whether a later try may do better.
func passing(err error) bool {
	var u *unreachable
	return errors.As(err, &u)
}

// neverSent reports whether a request cannot have arrived.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// explain says what a fault of the way means for the caller.
func (c *Client) explain(ctx context.Context, err error) error {
	var u *unreachable
	if err == nil || !errors.As(err, &u) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.seen.over(err) {
		return remedy.For(protocol.Errorf(protocol.Unavailable, "the sandbox has ended: its Jupyter server at %s is gone; use a sandbox that runs, or start one", c.address),
			remedy.Remedy{Action: remedy.ListSandboxes}, remedy.Remedy{Action: remedy.StartSandbox})
	}
	var wrapped *url.Error // which repeats the URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return remedy.For(protocol.Errorf(protocol.Unavailable,
		"the Jupyter server at %s cannot be reached: %v; the sandbox has ended, is starting again, or this is not its present jupyter_url", c.address, err),
		remedy.Remedy{Action: remedy.ShowSandbox})
}

func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 256<<10) // so that the connection can be used again
	_ = body.Close()
}
