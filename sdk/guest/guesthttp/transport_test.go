package guesthttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/call"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
	"github.com/seer-engine/seer/sdk/guest/internal/stream/streamtest"
)

// client makes requests through a host in memory, which makes them for real.
func client(t *testing.T) *http.Client {
	t.Helper()
	host := streamtest.New(t)
	host.HTTP = forward
	return &http.Client{Transport: Transport{pump: stream.New(host, &call.Calls{})}}
}

// forward is what a host does with a request.
func forward(x *streamtest.Exchange) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-x.Gone():
			cancel()
		case <-ctx.Done():
		}
	}()
	var body io.Reader
	if x.HTTP.Body {
		body = &sent{x: x}
	}
	req, err := http.NewRequestWithContext(ctx, x.HTTP.Method, x.HTTP.URL, body)
	if err != nil {
		x.End(sdk.Event{Error: sdk.Errorf(sdk.Invalid, "%v", err)}, nil)
		return
	}
	if x.HTTP.ContentLength > 0 {
		req.ContentLength = x.HTTP.ContentLength
	}
	req.Header = x.HTTP.Headers
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		x.End(sdk.Event{Error: sdk.Errorf(sdk.Unavailable, "%v", err)}, nil)
		return
	}
	defer resp.Body.Close()
	x.Head(resp.StatusCode, resp.Header)
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 && !x.Data(buf[:n]) {
			return
		}
		if errors.Is(err, io.EOF) {
			x.End(sdk.Event{}, nil)
			return
		}
		if err != nil {
			x.End(sdk.Event{Error: sdk.Errorf(sdk.Unavailable, "the answer broke off: %v", err)}, nil)
			return
		}
	}
}

// sent reads what the guest sends.
type sent struct {
	x    *streamtest.Exchange
	rest []byte
}

func (s *sent) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		piece, err := s.x.Receive()
		if err != nil {
			return 0, err
		}
		s.rest = piece
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// closing is a request body that counts how often it was closed.
type closing struct {
	io.Reader
	closed atomic.Int32
}

func (c *closing) Close() error { c.closed.Add(1); return nil }

func TestBodiesBothWays(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.Header()["X-Length"] = []string{fmt.Sprint(r.ContentLength)}
		w.Header().Add("X-Many", "a")
		w.Header().Add("X-Many", "b")
		w.WriteHeader(http.StatusCreated)
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
	})
	c := client(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 512<<10)
	for name, body := range map[string]io.Reader{
		"known length":   bytes.NewReader(data),
		"unknown length": io.MultiReader(bytes.NewReader(data)),
		"empty":          strings.NewReader(""),
		"none":           nil,
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := c.Post(url, "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 201 || resp.Status != "201 Created" || len(resp.Header["X-Many"]) != 2 {
				t.Fatalf("%s, %v, %v", resp.Status, resp.Header, err)
			}
			length, want := "0", []byte(nil)
			switch name {
			case "known length":
				length, want = fmt.Sprint(len(data)), data
			case "unknown length":
				length, want = "-1", data
			}
			if told := resp.Header.Get("X-Length"); told != length || !bytes.Equal(got, want) {
				t.Errorf("length %s, want %s; %d bytes came back", told, length, len(got))
			}
		})
	}
}

func TestHead(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "7") })
	resp, err := client(t).Head(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != 0 || err != nil || resp.ContentLength != 7 {
		t.Errorf("%d bytes, %v, length %d", n, err, resp.ContentLength)
	}
}

// An answer is read as it comes, one event at a time.
func TestEventStream(t *testing.T) {
	next := make(chan string)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		for text := range next {
			fmt.Fprintf(w, "data: %s\n\n", text)
			w.(http.Flusher).Flush()
		}
	})
	resp, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 100)
	for i := range 5 {
		next <- fmt.Sprint(i)
		want := fmt.Sprintf("data: %d\n\n", i)
		if n, err := io.ReadFull(resp.Body, buf[:len(want)]); err != nil || string(buf[:n]) != want {
			t.Fatalf("%q, %v", buf[:n], err)
		}
	}
	close(next)
	if n, err := resp.Body.Read(buf); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d, %v", n, err)
	}
}

// The answer may come before the whole request is sent; the rest is then not sent, and
// the body closed all the same.
func TestEarlyAnswer(t *testing.T) {
	host := streamtest.New(t)
	host.HTTP = func(x *streamtest.Exchange) {
		x.Receive()
		x.Head(http.StatusRequestEntityTooLarge, nil)
		x.End(sdk.Event{}, nil)
	}
	c := http.Client{Transport: Transport{pump: stream.New(host, &call.Calls{})}}
	r, w := io.Pipe()
	writing := make(chan error)
	go func() {
		_, err := w.Write([]byte("begin"))
		for err == nil {
			_, err = w.Write([]byte("and so on"))
		}
		writing <- err
	}()
	resp, err := c.Post("https://api.example.org", "text/plain", r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, err := io.ReadAll(resp.Body); len(data) != 0 || err != nil || resp.StatusCode != 413 {
		t.Errorf("%s, %q, %v", resp.Status, data, err)
	}
	if err := <-writing; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the writer of the body got %v", err)
	}
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Error("it did not happen")
}

func TestBodyThatFails(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	cause := errors.New("the disk is on fire")
	body := &closing{Reader: io.MultiReader(strings.NewReader("some"), failing{cause})}
	_, err := client(t).Post(url, "text/plain", body)
	if !errors.Is(err, cause) {
		t.Error(err)
	}
	poll(t, func() bool { return body.closed.Load() == 1 })
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Closing a body, and the end of the context, reach the far side.
func TestGivingUp(t *testing.T) {
	gone := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	c := client(t)
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	resp.Body.Close()
	<-gone
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("reading after closing: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err = c.Do(req); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("reading: %v", err)
		}
	})
	cancel()
	<-gone
	group.Wait()
}

func TestErrors(t *testing.T) {
	block := make(chan struct{})
	good := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/never":
			<-block
		case "/breaks":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("half"))
		}
	})
	defer close(block)
	c := client(t)
	c.Timeout = 0
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx    context.Context
		url    string
		change func(*http.Request)
		code   sdk.Code
		is     error
	}{
		"nobody there":  {url: "http://127.0.0.1:1/", code: sdk.Unavailable},
		"no such":       {url: "gopher://127.0.0.1/", code: sdk.Unavailable},
		"deadline":      {ctx: short, url: good + "/never", code: sdk.Unavailable, is: context.DeadlineExceeded},
		"cancelled":     {ctx: over, url: good, code: sdk.Internal, is: context.Canceled},
		"breaks off":    {url: good + "/breaks", code: sdk.Unavailable},
		"other Host":    {url: good, code: sdk.Unsupported, change: func(r *http.Request) { r.Host = "elsewhere" }},
		"with trailers": {url: good, code: sdk.Unsupported, change: func(r *http.Request) { r.Trailer = http.Header{"A": nil} }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			body := &closing{Reader: strings.NewReader("x")}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, tc.url, body)
			if err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(req)
			}
			resp, err := c.Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			var wrapped *url.Error
			if sdk.CodeOf(err) != tc.code || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("error %v has the code %s", err, sdk.CodeOf(err))
			}
			if name == "deadline" && (!errors.As(err, &wrapped) || !wrapped.Timeout()) {
				t.Errorf("%v is no timeout", err)
			}
			poll(t, func() bool { return body.closed.Load() >= 1 })
		})
	}
}

// The host's own words about a missed deadline say the same as the guest's.
func TestDeadlineNoticedByHost(t *testing.T) {
	host := streamtest.New(t)
	host.HTTP = func(x *streamtest.Exchange) {
		if x.HTTP.TimeoutSeconds <= 0 {
			t.Error("the host was not told of the deadline")
		}
		time.Sleep(time.Duration(x.HTTP.TimeoutSeconds * float64(time.Second)))
		x.End(sdk.Event{Error: sdk.Errorf(sdk.Unavailable, "too late")}, nil)
	}
	c := http.Client{Transport: Transport{pump: stream.New(host, &call.Calls{})}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.org", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Do(req); !errors.Is(err, context.DeadlineExceeded) || sdk.CodeOf(err) != sdk.Unavailable {
		t.Error(err)
	}
}

// A refusal comes back as it is, and an end without a word is the host's defect.
func TestRefused(t *testing.T) {
	host := streamtest.New(t)
	c := http.Client{Transport: Transport{pump: stream.New(host, &call.Calls{})}}
	_, err := c.Get("https://api.example.org")
	if sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "the manifest does not name") {
		t.Error(err)
	}
	host.HTTP = func(x *streamtest.Exchange) { x.End(sdk.Event{}, nil) }
	if _, err = c.Get("https://api.example.org"); sdk.CodeOf(err) != sdk.Internal {
		t.Error(err)
	}
}

func TestNatively(t *testing.T) {
	c := http.Client{Transport: Transport{}}
	if _, err := c.Get("https://api.example.org"); sdk.CodeOf(err) != sdk.Unsupported {
		t.Error(err)
	}
}
