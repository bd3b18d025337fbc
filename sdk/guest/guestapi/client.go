// Package guestapi speaks JSON with a backend from a plugin, and says in the words of the
// contract what its answers mean. It makes a plugin 7 MB smaller than package guesthttp, which
// brings net/http; so that a plugin stays small, nothing that it imports may import that.
package guestapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Client speaks JSON with one backend. Each request is made once: trying again is Seer's.
//
//	pond := guestapi.Client{Name: "Pond", URL: guest.Setting("url")}
//	var prices []price
//	err := pond.Do(ctx, guestapi.Request{Method: "GET", Path: "/v1/prices"}, &prices)
//
// It works with every [Sender], so that what is built upon it is tested without Wasm; guesthttp.Over
// makes one of an http.RoundTripper. The zero value of each field but URL is useful. A Client is
// safe for concurrent use.
type Client struct {
	Name      string              // the backend's, for messages; default its host
	URL       string              // what every path is appended to
	Sender    Sender              // default [Host]
	Header    Header              // of every request
	Timeout   time.Duration       // of a request with its answer; default 20 s, for a call has 30
	MaxAnswer int64               // bytes; default 8 MiB
	Codes     map[string]sdk.Code // what the backend's own error codes mean, or statuses ("409"): they count before the usual meaning
	KeyHint   string              // what to do about a credential that is refused: "make a key at https://…"
}

// Header has the values of each header, under names as "Content-Type" is written. An http.Header
// can be assigned to it.
type Header = map[string][]string

// Sender makes requests. It follows no redirect. The body of a reply must be closed.
type Sender interface {
	Send(ctx context.Context, m Message) (Reply, error)
}

// Message is a request as it is sent.
type Message struct {
	Method, URL string
	Header      Header
	Body        []byte // nil = none
}

// Reply is an answer as it comes.
type Reply struct {
	Status int
	Header Header
	Body   io.ReadCloser
}

// Request is one request of a [Client].
type Request struct {
	Method string
	Path   string // below the client's URL, escaped; see [url.PathEscape]
	Query  url.Values
	Header Header
	Body   any    // written as JSON; nil = none
	Doing  string // for messages: "renting a machine"; default method and path
}

const (
	requestTime  = 20 * time.Second
	answerLimit  = 8 << 20  // bytes
	problemLimit = 64 << 10 // bytes of an answer that is an error
)

// Do makes a request and decodes the answer into out, where that is not nil. Every
// error is an *[sdk.Error] with the code that the engine needs, or the context's own
// when the caller gave up. See [InDoubt] for a request that may have had its effect.
func (c *Client) Do(ctx context.Context, r Request, out any) error {
	short, cancel := context.WithTimeout(ctx, c.limit())
	defer cancel()
	resp, err := c.send(ctx, short, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.Status/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, problemLimit)) // a part of it says enough
		return c.Problem(r, Answer{resp.Status, resp.Header, text})
	}
	return c.decode(ctx, r, resp.Body, out)
}

// Answer is what a backend has answered, whatever its status.
type Answer struct {
	Status int
	Header Header
	Body   []byte // at most Client.MaxAnswer
}

// Get returns the first value of a header; "" = it is not there.
func (a Answer) Get(name string) string { return get(a.Header, name) }

func get(h Header, name string) string {
	if values := h[canonical(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// canonical writes the name of a header as "Content-Type" is written. It does what net/textproto
// does, which brings package net.
func canonical(name string) string {
	words := strings.Split(strings.ToLower(name), "-")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "-")
}

// Send makes a request and returns the answer as it is: also an error of the backend, and a
// redirect. It fails as [Client.Do] does if there is no answer, or one that is too long.
func (c *Client) Send(ctx context.Context, r Request) (Answer, error) {
	short, cancel := context.WithTimeout(ctx, c.limit())
	defer cancel()
	resp, err := c.send(ctx, short, r)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := c.read(ctx, r, resp.Body)
	return Answer{resp.Status, resp.Header, body}, err
}

func (c *Client) limit() time.Duration {
	if c.Timeout <= 0 {
		return requestTime
	}
	return c.Timeout
}

// send makes a request in the time of short. ctx is the caller's.
func (c *Client) send(ctx, short context.Context, r Request) (Reply, error) {
	m, err := c.message(r)
	if err != nil {
		return Reply{}, err
	}
	sender := c.Sender
	if sender == nil {
		sender = Host{}
	}
	reply, err := sender.Send(short, m)
	if err != nil {
		return Reply{}, c.unanswered(ctx, r, err)
	}
	return reply, nil
}

func (c *Client) message(r Request) (Message, error) {
	m := Message{Method: r.Method, URL: strings.TrimSuffix(c.URL, "/") + r.Path, Header: Header{"Accept": {"application/json"}}}
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return m, sdk.Errorf(sdk.Internal, "%s cannot be written as JSON: %v", r.doing(), err)
		}
		m.Body, m.Header["Content-Type"] = data, []string{"application/json"}
	}
	if len(r.Query) > 0 {
		m.URL += "?" + r.Query.Encode()
	}
	if u, err := url.Parse(m.URL); err != nil || u.Host == "" {
		return m, sdk.Errorf(sdk.Invalid, "%q is not the address of %s; correct the setting", c.URL, c.name())
	}
	for _, header := range []Header{c.Header, r.Header} {
		for name, values := range header {
			m.Header[canonical(name)] = values
		}
	}
	return m, nil
}

func (c *Client) decode(ctx context.Context, r Request, body io.Reader, out any) error {
	if out == nil {
		return nil
	}
	text, err := c.read(ctx, r, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return unsure(c.errorf(sdk.Internal, r, "answers with something else than its API describes: %v", err))
	}
	return nil
}

func (c *Client) read(ctx context.Context, r Request, body io.Reader) ([]byte, error) {
	limit := c.MaxAnswer
	if limit <= 0 {
		limit = answerLimit
	}
	text, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return nil, lost(c.unanswered(ctx, r, err))
	case int64(len(text)) > limit:
		return nil, unsure(c.errorf(sdk.Internal, r, "answers with more than %d bytes", limit))
	}
	return text, nil
}

// unanswered is the error of a request without a whole answer. ctx is the caller's.
func (c *Client) unanswered(ctx context.Context, r Request, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s: %w", r.doing(), context.Canceled)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return unsure(c.errorf(sdk.Unavailable, r, "did not answer in time"))
	}
	var own *sdk.Error
	if errors.As(err, &own) {
		return c.host(r, own)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return unsure(c.errorf(sdk.Unavailable, r, "broke off its answer"))
	}
	var wrapped *url.Error // names method and address, which are said already
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return unsure(c.errorf(sdk.Unavailable, r, "cannot be reached: %s", line(err.Error())))
}

// host is an error of the host's, whose words name method and address already.
func (c *Client) host(r Request, own *sdk.Error) error {
	doing := c.name()
	if r.Doing != "" {
		doing = r.doing()
	}
	e := &sdk.Error{Code: own.Code, Message: doing + ": " + own.Message, Seconds: own.Seconds}
	if own.Code == sdk.Unavailable || own.Code == sdk.Internal {
		return unsure(e)
	}
	return e // it was not sent
}

func (r Request) doing() string {
	if r.Doing != "" {
		return line(r.Doing) // it may name what the caller was given
	}
	return r.Method + " " + line(r.Path)
}

func (c *Client) name() string {
	if c.Name != "" {
		return c.Name
	}
	if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "the backend"
}

// errorf makes one sentence that names the backend once: "listing machines: Pond …".
func (c *Client) errorf(code sdk.Code, r Request, format string, args ...any) *sdk.Error {
	return sdk.Errorf(code, "%s: %s %s", r.doing(), c.name(), fmt.Sprintf(format, args...))
}
