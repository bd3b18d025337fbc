package egress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	pieceBytes   = 64 << 10
	maxRedirects = 10
)

// OpenHTTP is [sdk.HostHTTPOpen]: it checks a request and begins it.
func (s *Session) OpenHTTP(in sdk.HTTPOpen) (sdk.Opened, error) {
	x := &exchange{s: s, method: in.Method, body: in.Body, keep: in.KeepRedirects, length: in.ContentLength, began: time.Now()}
	if x.method == "" {
		x.method = http.MethodGet
	}
	var err error
	if x.url, err = url.Parse(in.URL); err != nil {
		x.url = &url.URL{}
		return sdk.Opened{}, x.refused(sdk.Errorf(sdk.Invalid, "%q is not a URL", in.URL))
	}
	if err := x.prepare(in); err != nil {
		return sdk.Opened{}, x.refused(err)
	}
	if x.st, err = s.open(in.TimeoutSeconds); err != nil {
		return sdk.Opened{}, x.refused(err)
	}
	if !in.Body {
		x.st.finished = true
	}
	s.start(x.st, x.run)
	return sdk.Opened{Stream: x.st.id}, nil
}

// prepare checks all of a request before it is made.
func (x *exchange) prepare(in sdk.HTTPOpen) error {
	var err error
	if x.guest, err = httpHeader(in.Headers, x.s.g.limits.HeaderKB<<10); err != nil {
		return err
	}
	if in.ContentLength < 0 || !in.Body && in.ContentLength > 0 {
		return sdk.Errorf(sdk.Invalid, "the content length %d fits no body", in.ContentLength)
	}
	return x.check()
}

// exchange is one request and its answer, with the redirects between.
type exchange struct {
	s      *Session
	st     *stream
	method string
	url    *url.URL
	guest  header // what the guest wants to send
	body   bool
	keep   bool // redirects are the guest's to follow
	length int64

	to   destination
	send header // what is sent: with credentials

	made     bool // it was handed to the network
	began    time.Time
	sent     *bodyReader
	received atomic.Int64
}

// check asks whether the request may be made as it stands, and puts the credentials
// into it.
func (x *exchange) check() error {
	x.began, x.made, x.to = time.Now(), false, destination{}
	x.url.Fragment, x.url.RawFragment = "", ""
	x.s.checks.Lock()
	defer x.s.checks.Unlock()
	p := x.s.rules()
	var err error
	if x.to, err = p.allowHTTP(x.method, x.url); err != nil {
		return err
	}
	x.send = x.guest.without(func(string) bool { return false })
	if err := p.bind(x.send, x.to.origin); err != nil {
		return err
	}
	if len(x.send["user-agent"]) == 0 {
		x.send["user-agent"] = []string{"seer/" + x.s.g.id}
	}
	x.send["accept-encoding"] = []string{"identity"}
	return nil
}

func (x *exchange) run() {
	resp, err := x.follow()
	if err != nil {
		x.st.stopSending()
		x.st.fail(x.refused(err))
		return
	}
	defer resp.Body.Close()
	x.st.s.emit(x.st, event{Event: sdk.Event{Kind: sdk.EventHead, Status: resp.StatusCode, Headers: x.s.g.answerHeader(resp.Header)}})
	err = x.s.g.deliver(x.st, resp, x, &x.received)
	x.st.stopSending()
	if err != nil {
		x.st.fail(x.refused(err))
		return
	}
	x.audit(resp.StatusCode)
	x.st.s.emit(x.st, event{Event: sdk.Event{Kind: sdk.EventEnd}})
}

// follow makes the request, and those to which it is redirected. Every one of them
// is checked like the first.
func (x *exchange) follow() (*http.Response, error) {
	for hops := 0; ; hops++ {
		resp, err := x.roundTrip()
		if err != nil {
			return nil, err
		}
		next := x.redirect(resp)
		if next == nil {
			return resp, nil
		}
		resp.Body.Close()
		x.audit(resp.StatusCode)
		if hops == maxRedirects {
			return nil, sdk.Errorf(sdk.Invalid, "%s was redirected more than %d times", x, maxRedirects)
		}
		from := x.String()
		x.leave(next)
		if err := x.check(); err != nil {
			return nil, sdk.Errorf(sdk.CodeOf(err), "%s was redirected: %v", from, err)
		}
	}
}

// leave goes on to another URL. What was meant for one origin does not go to another.
func (x *exchange) leave(next *url.URL) {
	to, err := originOf(next)
	if err != nil || to != x.to.origin {
		x.guest = x.guest.without(func(name string) bool {
			return x.s.g.isBound(name) || slices.Contains([]string{"authorization", "cookie", "cookie2", "www-authenticate", "referer", "origin"}, name)
		})
	}
	x.url = next
}

// redirect is where an answer leads. Requests that may change something are not
// repeated: the guest sees the redirect.
func (x *exchange) redirect(resp *http.Response) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	if x.keep || x.method != http.MethodGet && x.method != http.MethodHead || x.body || resp.Header.Get("Location") == "" {
		return nil
	}
	next, err := x.url.Parse(resp.Header.Get("Location"))
	if err != nil {
		return nil
	}
	return next
}

func (x *exchange) roundTrip() (*http.Response, error) {
	req, err := http.NewRequestWithContext(x.st.ctx, x.method, x.url.String(), nil)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "%s: %v", x, err)
	}
	for name, values := range x.send {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if x.body {
		x.sent = &bodyReader{st: x.st}
		req.Body, req.ContentLength = x.sent, x.length
		if x.length == 0 {
			req.ContentLength = -1
		}
	}
	x.made = true
	switch {
	case x.s.g.o.Transport != nil:
		return x.s.g.o.Transport.RoundTrip(req)
	case x.to.users:
		return x.s.g.anywhere.RoundTrip(req)
	default:
		return x.s.g.public.RoundTrip(req)
	}
}

// deliver hands over the body of an answer as the guest takes it. what is the request in words.
func (g *Gateway) deliver(st *stream, resp *http.Response, what fmt.Stringer, received *atomic.Int64) error {
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") && resp.Body != http.NoBody {
		return sdk.Errorf(sdk.Invalid, "%s was answered in the encoding %q, though only plain was asked for", what, e)
	}
	limit := int64(g.limits.ResponseMB) << 20
	out := filter{s: g.scrub}
	buf := make([]byte, pieceBytes)
	for {
		room, err := st.allowance()
		if err != nil {
			return err
		}
		size := min(room, int64(max(pieceBytes-len(out.held), 1)))
		n, err := resp.Body.Read(buf[:size])
		if received.Add(int64(n)) > limit {
			return sdk.Errorf(sdk.Invalid, "the answer to %s is larger than %d MiB, which is the limit", what, g.limits.ResponseMB)
		}
		if piece := out.next(buf[:n], err != nil); len(piece) > 0 {
			st.data(piece)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (x *exchange) String() string {
	return x.method + " " + x.url.Scheme + "://" + x.url.Host + x.s.g.Scrub(x.url.EscapedPath())
}
