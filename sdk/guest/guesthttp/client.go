package guesthttp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// Client is a [guestapi.Client] over an [http.RoundTripper]; see there. A plugin that needs
// nothing else of net/http takes that one, and is 7 MB smaller.
//
//	pond := guesthttp.Client{Name: "Pond", URL: guest.Setting("url")}
//	var prices []price
//	err := pond.Do(ctx, guesthttp.Request{Method: "GET", Path: "/v1/prices"}, &prices)
type Client struct {
	Name      string              // the backend's, for messages; default its host
	URL       string              // what every path is appended to
	Transport http.RoundTripper   // default [Transport]: the host
	Header    http.Header         // of every request
	Timeout   time.Duration       // of a request with its answer; default 20 s, for a call has 30
	MaxAnswer int64               // bytes; default 8 MiB
	Codes     map[string]sdk.Code // what the backend's own error codes mean, or statuses ("409"): they count before the usual meaning
	KeyHint   string              // what to do about a credential that is refused: "make a key at https://…"
}

// Request is one request of a [Client].
type Request = guestapi.Request

// Answer is what a backend has answered, whatever its status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most Client.MaxAnswer
}

// Do makes a request and decodes the answer into out; see [guestapi.Client.Do].
func (c *Client) Do(ctx context.Context, r Request, out any) error { return c.api().Do(ctx, r, out) }

// Send makes a request and returns the answer as it is; see [guestapi.Client.Send].
func (c *Client) Send(ctx context.Context, r Request) (Answer, error) {
	a, err := c.api().Send(ctx, r)
	return Answer{a.Status, a.Header, a.Body}, err
}

// Problem says what an answer means that is not a success, as [Client.Do] does.
func (c *Client) Problem(r Request, a Answer) error {
	return c.api().Problem(r, guestapi.Answer{Status: a.Status, Header: a.Header, Body: a.Body})
}

// InDoubt reports whether a request that failed may have had its effect; see [guestapi.InDoubt].
func InDoubt(err error) bool { return guestapi.InDoubt(err) }

// RetryAfter reads the header Retry-After; see [guestapi.RetryAfter].
func RetryAfter(header http.Header, now time.Time) float64 { return guestapi.RetryAfter(header, now) }

func (c *Client) api() *guestapi.Client {
	transport := c.Transport
	if transport == nil {
		transport = Transport{}
	}
	return &guestapi.Client{
		Name: c.Name, URL: c.URL, Sender: Over(transport), Header: c.Header,
		Timeout: c.Timeout, MaxAnswer: c.MaxAnswer, Codes: c.Codes, KeyHint: c.KeyHint,
	}
}

// Over makes requests by a round tripper: what is built upon package guestapi is tested with
// one. It follows no redirect: the host follows those that are allowed, and nobody else should
// send a credential elsewhere.
func Over(transport http.RoundTripper) guestapi.Sender {
	return sender{http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type sender struct{ client http.Client }

// Send implements [guestapi.Sender].
func (s sender) Send(ctx context.Context, m guestapi.Message) (guestapi.Reply, error) {
	var body io.Reader
	if m.Body != nil {
		body = bytes.NewReader(m.Body)
	}
	req, err := http.NewRequestWithContext(ctx, m.Method, m.URL, body)
	if err != nil {
		return guestapi.Reply{}, err
	}
	req.Header = m.Header
	resp, err := s.client.Do(req)
	if err != nil {
		return guestapi.Reply{}, err
	}
	return guestapi.Reply{Status: resp.StatusCode, Header: resp.Header, Body: resp.Body}, nil
}
