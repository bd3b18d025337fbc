package bundle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk"
)

const (
	short    = 100 * time.Millisecond
	patience = time.Minute // longer than any machine is slow
)

// site serves by path; what it does not know is 404.
func site(t *testing.T, pages map[string]http.HandlerFunc) (string, httpretry.Options) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := pages[r.URL.Path]; page != nil {
			page(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, httpretry.Options{Transport: server.Client().Transport, Stall: patience, Total: patience}
}

func says(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(data) }
}

func answers(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }
}

func TestFetch(t *testing.T) {
	b := make1(t)
	for name, tc := range map[string]struct {
		pages             map[string]http.HandlerFunc
		signature, report []byte
	}{
		"all":        {map[string]http.HandlerFunc{"/a b/x.wasm.sig": says([]byte("sig")), "/a b/x.conformance.json": says([]byte("{}"))}, []byte("sig"), []byte("{}")},
		"alone":      {map[string]http.HandlerFunc{}, nil, nil},
		"not public": {map[string]http.HandlerFunc{"/a b/x.wasm.sig": answers(403), "/a b/x.conformance.json": answers(410)}, nil, nil},
	} {
		tc.pages["/a b/x.wasm"] = says(b.Wasm)
		base, o := site(t, tc.pages)
		var last [2]int64
		o.Progress = func(done, total int64) { last = [2]int64{done, total} }
		address := base + "/a%20b/x.wasm?token=secret#part"
		got, origin, err := bundle.Fetch(t.Context(), address, o)
		want := b
		want.Signature, want.Report = tc.signature, tc.report
		if err != nil || !reflect.DeepEqual(got, want) || got.Digest() != b.Digest() {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if origin.Reference != address || !strings.HasPrefix(origin.Resolved, base+"/a%20b/x.wasm") || strings.Contains(origin.Resolved, "secret") {
			t.Errorf("%s: %+v", name, origin)
		}
		if n := int64(len(b.Wasm)); last != [2]int64{n, n} {
			t.Errorf("%s: progress %v", name, last)
		}
	}
}

func TestFetchTheManifestBeside(t *testing.T) {
	base, o := site(t, map[string]http.HandlerFunc{"/x.wasm": says(empty), "/x.yaml": says([]byte(yaml))})
	if b, _, err := bundle.Fetch(t.Context(), base+"/x.wasm", o); err != nil || b.ID != "provider-tiny" {
		t.Error(b, err)
	}
}

func TestFetchFromThisComputer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/x.wasm" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(module(yaml))
	}))
	t.Cleanup(server.Close)
	if b, _, err := bundle.Fetch(t.Context(), server.URL+"/x.wasm", httpretry.Options{}); err != nil || b.Signature != nil {
		t.Error(err)
	}
	for address, text := range map[string]string{
		"http://plugins.example/x.wasm":            "only from this computer",
		"http://127.0.0.1.evil.example/x.wasm":     "only from this computer",
		"https://me:secret@plugins.example/x.wasm": "password",
		"https://plugins.example/acme/tiny":        "oci://plugins.example/acme/tiny",
		"ftp://plugins.example/x.wasm":             "by https://",
		"https:///x.wasm":                          "has the form",
	} {
		_, _, err := bundle.Fetch(t.Context(), address, httpretry.Options{})
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestFetchAttacked(t *testing.T) {
	plain := httptest.NewServer(says(module(yaml)))
	t.Cleanup(plain.Close)
	lies := func(length string, data string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", length)
			_, _ = w.Write([]byte(data))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}
	for name, tc := range map[string]struct {
		page http.HandlerFunc
		code sdk.Code
		text string
	}{
		"unauthorized":  {answers(401), sdk.Unauthorized, "answered 401 Unauthorized"},
		"missing":       {answers(404), sdk.NotFound, "404"},
		"teapot":        {answers(418), sdk.Invalid, "418"},
		"ten gigabytes": {lies("10737418240", "x"), sdk.Invalid, "larger than 256 MiB: 10240 MiB"},
		"cut off":       {lies("1000", "x"), sdk.Unavailable, "broke off after 1 of 1000 bytes"},
		"a page":        {says([]byte("<html>")), sdk.Invalid, "not a Wasm binary"},
		"downgrade":     {http.RedirectHandler(plain.URL+"/x.wasm", http.StatusFound).ServeHTTP, sdk.Unavailable, "is not https"},
		"to a file":     {http.RedirectHandler("file:///etc/passwd", http.StatusFound).ServeHTTP, sdk.Unavailable, "refused"},
		"in circles":    {http.RedirectHandler("/x.wasm", http.StatusFound).ServeHTTP, sdk.Unavailable, "too often"},
		"much later": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, sdk.RateLimited, "try again in 3600 s"},
	} {
		base, o := site(t, map[string]http.HandlerFunc{"/x.wasm": tc.page})
		b, _, err := bundle.Fetch(t.Context(), base+"/x.wasm", o)
		if sdk.CodeOf(err) != tc.code || !strings.Contains(fmt.Sprint(err), tc.text) || b.Wasm != nil {
			t.Errorf("%s: %s %v", name, sdk.CodeOf(err), err)
		}
	}
	base, o := site(t, map[string]http.HandlerFunc{"/x.wasm": says(module(yaml)), "/x.wasm.sig": endless})
	if _, _, err := bundle.Fetch(t.Context(), base+"/x.wasm", o); err == nil || !strings.Contains(err.Error(), ".wasm.sig: larger than 16 KiB") {
		t.Error(err)
	}
}

func TestFetchAsksAgain(t *testing.T) {
	var asked atomic.Int32
	base, o := site(t, map[string]http.HandlerFunc{"/x.wasm": func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		case 2:
			w.WriteHeader(503)
		default:
			_, _ = w.Write(module(yaml))
		}
	}})
	begun := time.Now()
	if _, _, err := bundle.Fetch(t.Context(), base+"/x.wasm", o); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	if took := time.Since(begun); took < time.Second {
		t.Errorf("asked again after %v, not after the second that was wanted", took)
	}
	asked.Store(-100)
	base, o = site(t, map[string]http.HandlerFunc{"/x.wasm": func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.WriteHeader(502) }})
	if _, _, err := bundle.Fetch(t.Context(), base+"/x.wasm", o); sdk.CodeOf(err) != sdk.Unavailable || asked.Load() != -96 {
		t.Errorf("asked %d times: %v", asked.Load()+100, err)
	}
}

func TestFetchEnds(t *testing.T) {
	hangs := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	begins := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	drips := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}
	for name, tc := range map[string]struct {
		page         http.HandlerFunc
		stall, total time.Duration
		text         string
	}{
		"hangs":  {hangs, short, patience, "nothing came for too long"},
		"begins": {begins, short, patience, "nothing came for too long"},
		"drips":  {drips, patience, short, "took too long"},
	} {
		base, o := site(t, map[string]http.HandlerFunc{"/x.wasm": tc.page})
		o.Stall, o.Total = tc.stall, tc.total
		_, _, err := bundle.Fetch(t.Context(), base+"/x.wasm", o)
		if sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
		o.Stall, o.Total = patience, patience
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(short, cancel)
		if _, _, err := bundle.Fetch(ctx, base+"/x.wasm", o); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, Ctrl-C: %v", name, err)
		}
	}
}

// A request may hear of its context's end before the one who reads its body does.
func TestReadEndsWithItsRequest(t *testing.T) {
	o := httpretry.Options{}.Defaults()
	for end, ok := range map[error]func(error) bool{
		context.Canceled: func(err error) bool { return errors.Is(err, context.Canceled) },
		context.DeadlineExceeded: func(err error) bool {
			return sdk.CodeOf(err) == sdk.Unavailable && strings.Contains(err.Error(), "took too long")
		},
	} {
		_, err := o.Read(t.Context(), io.NopCloser(iotest.ErrReader(end)), -1, 10)
		if !ok(err) {
			t.Errorf("%v: %v", end, err)
		}
	}
}
