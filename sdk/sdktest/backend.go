package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// Serve makes a backend of a handler, such as the author's simulator. Nothing listens.
func Serve(h http.Handler) http.RoundTripper { return served{h} }

// Remote makes a backend of a simulator that is a process of its own: whatever host a
// request is for, it goes to base.
func Remote(base string) (http.RoundTripper, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the address of a simulator: http://host:port is wanted", base)
	}
	return remote{u, &http.Transport{}}, nil
}

type remote struct {
	base *url.URL
	next http.RoundTripper
}

func (r remote) RoundTrip(req *http.Request) (*http.Response, error) {
	to := req.Clone(req.Context())
	to.URL.Scheme, to.URL.Host = r.base.Scheme, r.base.Host
	if to.Host == "" {
		to.Host = req.URL.Host
	}
	return r.next.RoundTrip(to)
}

type served struct{ handler http.Handler }

func (s served) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	in := req.Clone(ctx)
	in.RequestURI, in.RemoteAddr = req.URL.RequestURI(), "192.0.2.1:1234"
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body, pipe := io.Pipe()
	w := &responder{header: http.Header{}, pipe: pipe, head: make(chan struct{}), req: req}
	// Who gives up does not read on: a handler that writes is not to wait for ever.
	context.AfterFunc(req.Context(), func() { _ = body.CloseWithError(req.Context().Err()) })
	go func() {
		defer cancel()
		s.serve(w, in)
	}()
	select {
	case <-w.head:
	case <-req.Context().Done():
		cancel()
		return nil, req.Context().Err()
	}
	if w.lost != nil {
		return nil, w.lost
	}
	w.resp.Body = closing{body, cancel}
	return w.resp, nil
}

// serve runs the handler. One that panics drops the connection, as a server's does.
func (s served) serve(w *responder, req *http.Request) {
	defer func() {
		var err error
		if v := recover(); v != nil {
			err = errDropped
			if e, ok := v.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				err = fmt.Errorf("the simulator panicked: %v", v)
			}
		}
		w.end(err)
	}()
	s.handler.ServeHTTP(w, req)
}

var errDropped = errors.New("connection reset by peer")

// closing tells the handler that nobody reads on.
type closing struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (c closing) Close() error {
	c.cancel()
	return c.PipeReader.Close()
}

// responder is what a handler writes to.
type responder struct {
	header http.Header
	pipe   *io.PipeWriter
	req    *http.Request
	once   sync.Once
	head   chan struct{}
	resp   *http.Response
	lost   error
}

func (r *responder) Header() http.Header { return r.header }

func (r *responder) WriteHeader(status int) {
	r.once.Do(func() {
		r.resp = answer(r.req, status, "", "")
		r.resp.Header, r.resp.ContentLength = r.header.Clone(), -1
		close(r.head)
	})
}

func (r *responder) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.pipe.Write(data)
}

// Flush implements [http.Flusher]: nothing is held back.
func (r *responder) Flush() { r.WriteHeader(http.StatusOK) }

func (r *responder) end(err error) {
	if err != nil {
		r.once.Do(func() {
			r.lost = err
			close(r.head)
		})
	}
	r.WriteHeader(http.StatusOK)
	_ = r.pipe.CloseWithError(err) // nil = the end
}
