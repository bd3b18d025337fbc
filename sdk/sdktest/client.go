package sdktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// The host's limits.
const (
	maxBody      = 64 << 20
	maxHeader    = 64 << 10
	maxRedirects = 10
)

// Client is an HTTP client that treats native code as Seer's host treats a plugin: it
// adds the headers, which are credentials, and takes their values out of what comes
// back; it follows redirects of GET and HEAD within the origin and refuses others, and has
// the host's limits and errors.
func (w *World) Client(headers http.Header) *http.Client {
	h := &hostLike{next: w, headers: headers}
	for _, values := range headers {
		for _, v := range credentials(values) {
			h.secrets = append(h.secrets, []byte(v))
		}
	}
	return &http.Client{
		Transport:     h,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// credentials are the values of a header and what follows their scheme: Bearer ….
func credentials(values []string) []string {
	out := append([]string(nil), values...)
	for _, v := range values {
		if _, bare, ok := strings.Cut(v, " "); ok {
			out = append(out, bare)
		}
	}
	return out
}

type hostLike struct {
	next    http.RoundTripper
	headers http.Header
	secrets [][]byte
}

// RoundTrip implements [http.RoundTripper].
func (h *hostLike) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.Method + " " + req.URL.Scheme + "://" + req.URL.Host + req.URL.EscapedPath()
	in := req.Clone(req.Context())
	for name, values := range h.headers {
		in.Header[http.CanonicalHeaderKey(name)] = values
	}
	for hops := 0; ; hops++ {
		resp, err := h.next.RoundTrip(in)
		if err != nil {
			return nil, h.failure(req, what, err)
		}
		to := redirect(in, resp)
		switch {
		case to == nil:
			return h.arrived(req, what, resp)
		case to.Scheme != req.URL.Scheme || to.Host != req.URL.Host:
			_ = resp.Body.Close()
			return nil, sdk.Errorf(sdk.Unauthorized, "%s was redirected: %s://%s is not among the permissions", what, to.Scheme, to.Host)
		case hops == maxRedirects:
			_ = resp.Body.Close()
			return nil, sdk.Errorf(sdk.Invalid, "%s was redirected more than %d times", what, maxRedirects)
		}
		_ = resp.Body.Close()
		in = in.Clone(req.Context())
		in.URL, in.Host = to, ""
	}
}

// redirect is where an answer leads, where the host would follow it.
func redirect(req *http.Request, resp *http.Response) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	read := req.Method == http.MethodGet || req.Method == http.MethodHead
	if !read || resp.Header.Get("Location") == "" {
		return nil
	}
	to, err := req.URL.Parse(resp.Header.Get("Location"))
	if err != nil {
		return nil
	}
	return to
}

func (h *hostLike) arrived(req *http.Request, what string, resp *http.Response) (*http.Response, error) {
	size := 0
	for name, values := range resp.Header {
		for i, v := range values {
			size += len(name) + len(v) + 4
			values[i] = string(h.scrub([]byte(v)))
		}
	}
	if size > maxHeader {
		_ = resp.Body.Close()
		return nil, sdk.Errorf(sdk.Unavailable, "%s failed: the headers of the answer are larger than %d bytes", what, maxHeader)
	}
	resp.Body = &hostBody{h: h, req: req, what: what, next: resp.Body}
	return resp, nil
}

// failure is the error that a plugin gets.
func (h *hostLike) failure(req *http.Request, what string, err error) error {
	var typed *sdk.Error
	switch {
	case req.Context().Err() != nil:
		return req.Context().Err()
	case errors.Is(err, context.Canceled), errors.As(err, &typed):
		return err
	}
	return sdk.Errorf(sdk.Unavailable, "%s failed: %v", what, err)
}

func (h *hostLike) scrub(text []byte) []byte {
	for _, s := range h.secrets {
		text = bytes.ReplaceAll(text, s, []byte("[secret]"))
	}
	return text
}

// hostBody is a body with the host's limit and errors. What may be the beginning of a
// credential is held back until the rest has come.
type hostBody struct {
	h    *hostLike
	req  *http.Request
	what string
	next io.ReadCloser

	size    int64
	held    []byte // read, and not looked through
	clean   []byte // to be given
	err     error
	scratch [16 << 10]byte
}

func (b *hostBody) Read(p []byte) (int, error) {
	for len(b.clean) == 0 && b.err == nil {
		b.fill()
	}
	if len(b.clean) == 0 {
		return 0, b.err
	}
	n := copy(p, b.clean)
	b.clean = b.clean[n:]
	return n, nil
}

func (b *hostBody) fill() {
	n, err := b.next.Read(b.scratch[:])
	b.size += int64(n)
	b.held = append(b.held, b.scratch[:n]...)
	switch {
	case b.size > maxBody:
		err = sdk.Errorf(sdk.Invalid, "the answer to %s is larger than %d MiB, which is the limit", b.what, maxBody>>20)
	case err != nil && !errors.Is(err, io.EOF):
		err = b.h.failure(b.req, b.what, fmt.Errorf("the answer broke off: %w", err))
	}
	b.err = err
	text := b.h.scrub(b.held)
	keep := 0
	if err == nil {
		keep = b.h.begun(text)
	}
	b.clean = append([]byte(nil), text[:len(text)-keep]...)
	b.held = append([]byte(nil), text[len(text)-keep:]...)
}

// begun is how many bytes at the end of text may be the beginning of a secret.
func (h *hostLike) begun(text []byte) int {
	most := 0
	for _, s := range h.secrets {
		for n := min(len(s)-1, len(text)); n > most; n-- {
			if bytes.HasSuffix(text, s[:n]) {
				most = n
			}
		}
	}
	return most
}

func (b *hostBody) Close() error { return b.next.Close() }
