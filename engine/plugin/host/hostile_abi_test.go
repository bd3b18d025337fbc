package host_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// What a guest can do to the functions that only our host has, and to the ABI between.
// Whatever it does harms its own instance at most.

// Blocks that are none: beyond memory, negative, in the middle of others.
func TestHostileOffsets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(server.Close)
	h := escapist(t, server.URL, host.Options{})
	offsets := []int64{0, -1, 7, 1<<32 - 1, 1<<32 + 8, math.MinInt64}
	for _, function := range []string{"http_open", "folder_read", "send"} { // the others read their input in the same way
		for _, at := range offsets {
			_, err := try(t.Context(), h, order{"do": "offsets", "text": function, "url": server.URL + "/open/x", "offsets": []int64{at}})
			wantOwnFault(t, fmt.Sprint(function, " ", at), err)
		}
	}
	for _, length := range []int64{-1, 1 << 31, 1<<32 - 1} {
		_, err := try(t.Context(), h, order{"do": "offsets", "text": "output", "offsets": offsets, "n": length})
		wantOwnFault(t, fmt.Sprint("output of ", length), err)
	}
	wantUsable(t, h)
}

// wantOwnFault accepts what harms nobody but the guest: nothing, its own end, its own
// error. Whatever the host does not know would be another error.
func wantOwnFault(t *testing.T, what string, err error) {
	t.Helper()
	var fault *host.Error
	var own *sdk.Error
	switch {
	case err == nil, errors.As(err, &own):
	case errors.As(err, &fault) && (fault.Fault == host.FaultCrash || fault.Fault == host.FaultOutput || fault.Fault == host.FaultMemory):
	default:
		t.Errorf("%s: %v", what, err)
	}
}

// Blocks whose length was rewritten where the ABI keeps it.
func TestHostileLengths(t *testing.T) {
	h := escapist(t, "", host.Options{})
	for _, length := range []int64{-1, 0, 1 << 31, 0x7fffffff_7fffffff} {
		_, err := try(t.Context(), h, order{"do": "forge", "n": length})
		wantOwnFault(t, fmt.Sprint(length), err)
		wantUsable(t, h)
	}
}

// The ABI's own memory is the plugin's, too.
func TestHostileBlocks(t *testing.T) {
	h := escapist(t, "", host.Options{})
	if _, err := try(t.Context(), h, order{"do": "block", "n": 8}); err != nil {
		t.Errorf("8 MiB: %v", err)
	}
	_, err := try(t.Context(), h, order{"do": "block", "n": 500})
	wantOwnFault(t, "500 MiB", err)
	if err == nil {
		t.Error("a plugin of 64 MiB holds 500 MiB of blocks")
	}
	wantUsable(t, h)
}

// More streams than there may be, at once and one after the other; none is left behind.
func TestHostileStreams(t *testing.T) {
	arrived := make(chan struct{}, 5000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	h := escapist(t, server.URL, host.Options{})
	wantUsable(t, h)
	before := runtime.NumGoroutine()
	got, err := try(t.Context(), h, order{"do": "open", "url": server.URL + "/open/x", "n": 2000})
	if err != nil || !strings.HasPrefix(got, fmt.Sprintf("%d, then invalid", sdk.MaxStreams)) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := try(t.Context(), h, order{"do": "churn", "url": server.URL + "/open/x", "n": 500}); err != nil {
		t.Errorf("%q, %v", got, err)
	}
	server.CloseClientConnections()
	for end := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before+20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	wantUsable(t, h)
}

// The streams of another call, by their numbers: sending to them, ending them, crediting
// them.
func TestHostileStreamNumbers(t *testing.T) {
	reached, finish := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, "the first half, ")
		rw.(http.Flusher).Flush()
		reached <- struct{}{}
		<-finish
		fmt.Fprint(rw, "and the second")
	}))
	t.Cleanup(server.Close)
	h := escapist(t, server.URL, host.Options{Limits: host.Limits{Instances: 2}})
	type answer struct {
		text string
		err  error
	}
	victim := make(chan answer, 1)
	go func() {
		text, err := try(t.Context(), h, order{"do": "get", "url": server.URL + "/open/x"})
		victim <- answer{text, err}
	}()
	<-reached
	got, err := try(t.Context(), h, order{"do": "meddle", "n": 5000})
	close(finish)
	if err != nil || got != "0" {
		t.Errorf("%q of the other's streams were taken, %v", got, err)
	}
	if v := <-victim; v.err != nil || v.text != "the first half, and the second" {
		t.Errorf("the other call got %q, %v", v.text, v.err)
	}
}

// A guest that allows the host to deliver without an end, and takes nothing of it.
func TestHostileCredit(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		piece := make([]byte, 64<<10)
		for err := error(nil); err == nil; {
			_, err = rw.Write(piece)
			sent.Add(int64(len(piece)))
		}
	}))
	t.Cleanup(server.Close)
	h := escapist(t, server.URL, host.Options{})
	if got, err := try(t.Context(), h, order{"do": "glut", "url": server.URL + "/open/x", "n": 1500}); err != nil {
		t.Errorf("%q, %v", got, err)
	}
	// 256 pieces of the host's, and what lies in the buffers of the system.
	if n := sent.Load(); n < 1<<20 || n > 48<<20 {
		t.Errorf("the server could send %d MiB", n>>20)
	}
	wantUsable(t, h)
}

// Requests that one reader takes for something else than another.
func TestHostileRequests(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	h := escapist(t, server.URL, host.Options{})
	var requests []sdk.HTTPOpen
	for _, url := range []string{
		"http://0177.0.0.1", "http://2130706433", "http://0x7f.0.0.1", "http://127.1", "http://[::ffff:127.0.0.1]", "http://[::1]", "http://[::1%25eth0]",
		"http://localhost", "http://127.0.0.1.nip.io", "http://127.0.0.1.", "http://①②⑦.⓪.⓪.①", "http://127。0。0。1", "http://xn--127-", "http://user@127.0.0.1",
		"http://127.0.0.1@evil.example", "http://evil.example#@127.0.0.1", `http://evil.example\@127.0.0.1`, "http://127.0.0.1%00.evil.example", "http:127.0.0.1", "//127.0.0.1",
		"HTTP://127.0.0.1:1", "gopher://127.0.0.1", "unix:///var/run/docker.sock", "file:///etc/passwd",
	} {
		requests = append(requests, sdk.HTTPOpen{Method: "GET", URL: url + port + "/open/x"})
	}
	for _, path := range []string{"/open/../admin", "/open/%2e%2e/admin", "/open/%2e%2e%2fadmin", "//open/x", "/open//x", "/open/..;/admin", "/open/;/../admin", "/open%2fx",
		`/open\x`, "/open/%5c..%5cadmin", "/./open/x", "/OPEN/x", "/open/x/y", "/openx", "/open/%00", "/open/%252e%252e", "/open/x\r\nHost: evil", "/admin"} {
		requests = append(requests, sdk.HTTPOpen{Method: "GET", URL: server.URL + path})
	}
	for _, method := range []string{"DELETE", "get", "GET ", "GET /admin HTTP/1.1\r\nX: ", "CONNECT", "TRACE", "PATCH"} {
		requests = append(requests, sdk.HTTPOpen{Method: method, URL: server.URL + "/open/x"})
	}
	for _, header := range [][2]string{{"Host", "evil"}, {"hOsT", "evil"}, {":authority", "evil"}, {"Transfer-Encoding", "chunked"}, {"Content-Length", "5"}, {"TE", "trailers"},
		{"Connection", "Authorization"}, {"Upgrade", "h2c"}, {"X-HTTP-Method-Override", "DELETE"}, {"X-Method-Override", "DELETE"}, {"X-Original-URL", "/admin"}, {"X-Rewrite-Url", "/admin"},
		{"X-Forwarded-Host", "evil"}, {"Proxy-Authorization", "x"}, {"X", "a\r\nX-Second: b"}, {"X", "a\n"}, {"X\r\nY", "b"}, {"X Y", "b"}, {"", "b"}, {"Expect", "100-continue"}} {
		requests = append(requests, sdk.HTTPOpen{Method: "POST", URL: server.URL + "/open/x", Headers: map[string][]string{header[0]: {header[1]}}})
	}
	requests = append(requests, sdk.HTTPOpen{Method: "GET", URL: server.URL + "/open/x", ContentLength: 10}, sdk.HTTPOpen{Method: "POST", URL: server.URL + "/open/x", Body: true, ContentLength: -1})
	got, err := try(t.Context(), h, order{"do": "requests", "requests": requests})
	if err != nil {
		t.Fatal(err)
	}
	for i, ended := range outcomes(t, got) {
		if !strings.HasPrefix(ended, string(sdk.Unauthorized)+" ") && !strings.HasPrefix(ended, string(sdk.Invalid)+" ") {
			t.Errorf("%+v: %q", requests[i], ended)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

// What a guest puts where a credential belongs is replaced, and goes nowhere else.
func TestHostileHeader(t *testing.T) {
	got := make(chan []string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Values("Authorization") }))
	t.Cleanup(server.Close)
	h := escapist(t, server.URL, host.Options{})
	requests := []sdk.HTTPOpen{
		{Method: "GET", URL: server.URL + "/open/x", Headers: map[string][]string{"Authorization": {"Bearer mine"}}},
		{Method: "GET", URL: server.URL + "/open/x", Headers: map[string][]string{"authorization": {"one", "two"}, "AUTHORIZATION": {"three"}}},
	}
	if _, err := try(t.Context(), h, order{"do": "requests", "requests": requests}); err != nil {
		t.Fatal(err)
	}
	for range requests {
		if values := <-got; len(values) != 1 || values[0] != "Bearer "+escapeKey {
			t.Errorf("the server saw %q", values)
		}
	}
}

// What a provider hands over for the ledger.
func TestHostileHandles(t *testing.T) {
	h := escapist(t, "", host.Options{})
	p, err := h.Provider(t.Context(), "escape")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []string{`{"do":"handle","n":1000000}`, `{"do":"handle","n":5000}`, `{"do":"cursor","n":70000}`,
		`{"do":"text","text":"a\nb"}`, `{"do":"text","text":"a\u001b[2Jb"}`, `{"do":"text","text":"a\u202eb"}`} {
		step, err := p.Create(t.Context(), sdk.MachineSpec{Key: "k", Options: []byte(tc)}, nil)
		wantFault(t, err, host.FaultOutput, "answered a handle of more than")
		if step.Handle != "" || step.Cursor != nil {
			t.Errorf("%s was let through", tc)
		}
	}
	if step, err := p.Create(t.Context(), sdk.MachineSpec{Key: "k", Options: []byte(`{"do":"text","text":"m-1|ünïx:/run"}`)}, nil); err != nil || step.Handle == "" {
		t.Errorf("a fine handle: %v", err)
	}
}
