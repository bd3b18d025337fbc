// Package guesthttp gives a plugin HTTP: a [Transport] for an [http.Client]. It is
// apart from package guest because net/http makes a plugin three times as large.
//
// The plugin's manifest names what may be requested, and the host sends it: it
// resolves names, checks addresses, follows the redirects of GET and HEAD, and adds
// credentials. None of that happens here.
package guesthttp

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

// Transport is an [http.RoundTripper] that lets the host make the requests. The zero
// value is ready, and safe for concurrent use:
//
//	client := http.Client{Transport: guesthttp.Transport{}}
//
// Bodies are streamed both ways. Closing a response's body early gives the request
// up, as the end of its context does. Errors of the host's are *sdk.Error: what it
// refuses has the code Unauthorized or Invalid, and a passing fault Unavailable. A
// deadline that has passed is Unavailable and [context.DeadlineExceeded].
type Transport struct {
	// KeepRedirects returns answers that redirect, instead of having the host follow them.
	KeepRedirects bool

	pump *stream.Pump // nil = that of the instance
}

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body := newUpload(req)
	in, err := opening(req, body, t.KeepRedirects)
	if err != nil {
		body.close()
		return nil, err
	}
	pump := t.pump
	if pump == nil {
		pump = stream.Instance()
	}
	s, err := pump.OpenHTTP(req.Context(), in)
	if err != nil {
		body.close()
		return nil, failure(req, err)
	}
	body.start(s)
	head := s.Head()
	if head == nil {
		return nil, failure(req, s.Ended().Unanswered())
	}
	return response(req, s, head), nil
}

func opening(req *http.Request, body *upload, keep bool) (sdk.HTTPOpen, error) {
	in := sdk.HTTPOpen{
		Method:         req.Method,
		URL:            req.URL.String(),
		Headers:        req.Header,
		Body:           body != nil,
		TimeoutSeconds: stream.Timeout(req.Context()),
		KeepRedirects:  keep,
	}
	if in.Method == "" {
		in.Method = http.MethodGet
	}
	if body != nil {
		in.ContentLength = max(req.ContentLength, 0)
	}
	switch {
	case req.Host != "" && req.Host != req.URL.Host:
		return in, sdk.Errorf(sdk.Unsupported, "a request to %s cannot have the Host header %q: a plugin calls a destination by its name", req.URL.Host, req.Host)
	case len(req.Trailer) > 0:
		return in, sdk.Errorf(sdk.Unsupported, "a plugin's request cannot have trailers")
	}
	return in, nil
}

func failure(req *http.Request, err error) error {
	return stream.Failure(req.Context(), req.URL.Host, err)
}

func response(req *http.Request, s *stream.Stream, head *sdk.Event) *http.Response {
	r := &http.Response{
		Status:        fmt.Sprintf("%03d %s", head.Status, http.StatusText(head.Status)),
		StatusCode:    head.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{},
		ContentLength: -1,
		Body:          s.Body(req.Context(), req.URL.Host, http.ErrBodyReadAfterClose),
		Request:       req,
	}
	for key, values := range head.Headers {
		for _, v := range values {
			r.Header.Add(key, v)
		}
	}
	if n, err := strconv.ParseInt(r.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		r.ContentLength = n
	}
	return r
}
