package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// TestFaults has each server fail in one way, and the download succeed all the same.
func TestFaults(t *testing.T) {
	big := content("big", 5*block+7)
	cut := func(w http.ResponseWriter, n int) {
		_, _ = w.Write(big[:n])
		panic(http.ErrAbortHandler)
	}
	first := func(times int64, do func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request, int64) bool {
		return func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n <= times {
				do(w, r)
			}
			return n <= times
		}
	}
	status := func(code int, header, value string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(code)
		}
	}
	ignores := func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(big)))
		_, _ = w.Write(big)
		return true
	}
	ranged := func(status int, span string, body []byte) func(http.ResponseWriter, *http.Request, int64) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %s/%d", span, len(big)))
			w.WriteHeader(status)
			_, _ = w.Write(body)
			return true
		}
	}
	for name, tc := range map[string]struct {
		fault func(w http.ResponseWriter, r *http.Request, n int64) bool
		pause time.Duration // at least one as long
	}{
		"408":              {first(2, status(408, "X", "")), firstPause / 2},
		"500":              {first(3, status(500, "X", "")), firstPause / 2},
		"503 asks to wait": {first(1, status(503, "Retry-After", "120")), 119 * time.Second},
		"429 asks to wait": {first(6, status(429, "Retry-After", "7")), 6 * time.Second},
		"429 has a limit":  {first(4, status(429, "RateLimit", `"resolvers";r=0;t=172`)), 172 * time.Second},
		"no connection":    {first(5, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), firstPause / 2},
		"truncated": {first(9, func(w http.ResponseWriter, r *http.Request) {
			from, to := rangeOf(r)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(big)))
			w.Header().Set("Content-Length", fmt.Sprint(to-from+1))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(big[from : (from+to)/2])
			panic(http.ErrAbortHandler)
		}), firstPause / 2},
		"shorter ranges": {func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			from, to := rangeOf(r)
			to = min(to, from+90_000)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(big)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(big[from : to+1])
			return true
		}, 0},
		"ranges are ignored": {func(w http.ResponseWriter, r *http.Request, _ int64) bool { return ignores(w, r) }, 0},
		"ranges are ignored, and answers cut": {func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if r.Header.Get("Range") == "" && n < 8 {
				w.Header().Set("Content-Length", fmt.Sprint(len(big)))
				cut(w, int(n)*30_000)
			}
			return ignores(w, r)
		}, 0},
		"another range":     {ranged(http.StatusPartialContent, "1-8", big[1:9]), 0},
		"416 to each range": {ranged(http.StatusRequestedRangeNotSatisfiable, "*", nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, map[string][]byte{"big": big})
			o.fault = tc.fault
			dir, clock := t.TempDir(), newClock()
			opt := Options{Dir: dir, Stall: fakeStall, block: block, clock: clock}
			if err := Download(context.Background(), []File{o.file("big")}, opt); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, o.files)
			if clock.longest() < tc.pause {
				t.Errorf("the longest pause was %v, want %v", clock.longest(), tc.pause)
			}
		})
	}
}

// rangeOf is the range that a request asks for.
func rangeOf(r *http.Request) (from, to int) {
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil {
		panic(err)
	}
	return from, to
}

// TestErrors has servers fail for good.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		fault http.HandlerFunc
		code  sdk.Code
		text  string
	}{
		"missing":   {http.NotFound, sdk.NotFound, "404"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, sdk.Unauthorized, "403"},
		"teapot":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) }, sdk.Internal, "418"},
		"always down": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, sdk.Unavailable,
			"502 Bad Gateway (after 8 attempts without a byte; what has arrived is kept)"},
		"an hour": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, sdk.RateLimited, "429"},
		"longer": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "2000")
			w.WriteHeader(200)
		}, sdk.Internal, "not the file that was promised: it has more than 1000 bytes, namely 2000"},
		"longer, and does not say so": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(content("f", 1000))
			w.(http.Flusher).Flush()
			_, _ = w.Write(content("f", 1000))
		}, sdk.Internal, "not the file that was promised: it has more than 1000 bytes"},
		"shorter": {func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("short")) }, sdk.Internal, "it has 5 bytes, not 1000"},
		"416": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes */7")
			w.WriteHeader(416)
		}, sdk.Internal, "it has 7 bytes, not 1000"},
		"compressed": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(200)
		}, sdk.Internal, `compresses the file ("gzip")`},
		"another scheme": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ftp://x/y", http.StatusFound) }, sdk.Unavailable, "redirect to ftp"},
		"other bytes": {func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(content("g", 1000)) }, sdk.Internal,
			"not the file that was promised: its SHA-256 is"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, map[string][]byte{"f": content("f", 1000)})
			o.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool { tc.fault(w, r); return true }
			dir := t.TempDir()
			err := get(t, dir, o.file("f"))
			if sdk.CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.text) || !strings.HasPrefix(err.Error(), "download f: ") {
				t.Errorf("error = %v (%s)", err, sdk.CodeOf(err))
			}
			if errors.Is(err, ErrMismatch) {
				wantFiles(t, dir, nil)
			}
			if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
				t.Error("a bad file has its name")
			}
		})
	}
}

func TestStall(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 3*block)})
	stalled, clock := make(chan struct{}, 9), newClock()
	o.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		if n > 2 {
			return false
		}
		from, to := rangeOf(r)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, 3*block))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(o.files["f"][from : from+1000])
		w.(http.Flusher).Flush()
		stalled <- struct{}{}
		<-r.Context().Done()
		return true
	}
	dir, done := t.TempDir(), make(chan error, 1)
	go func() {
		done <- Download(context.Background(), []File{o.file("f")}, Options{Dir: dir, Stall: fakeStall, block: block, clock: clock})
	}()
	<-stalled
	<-stalled
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, o.files)
			return
		case <-time.After(5 * time.Millisecond): // the reader may not have come to its timer yet
			clock.fire(fakeStall)
		}
	}
}

// TestSlowConnection has one connection wait until the others have brought nearly all of
// what it was to bring.
func TestSlowConnection(t *testing.T) {
	const size = 64 * block
	o := newOrigin(t, map[string][]byte{"f": content("f", size)})
	enough := make(chan struct{})
	var once sync.Once
	o.over = func(sent int64) {
		if sent > size-3*block {
			once.Do(func() { close(enough) })
		}
	}
	o.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		if n > 1 {
			return false
		}
		from, to := rangeOf(r)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, size))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(o.files["f"][from : from+1000])
		w.(http.Flusher).Flush()
		<-enough
		_, _ = w.Write(o.files["f"][from+1000 : to+1])
		return true
	}
	dir := t.TempDir()
	if err := get(t, dir, o.file("f")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, o.files)
}

// TestWrongBytes has a server send a wrong block once.
func TestWrongBytes(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 4*block)})
	bad := append([]byte(nil), o.files["f"]...)
	bad[2*block+5]++
	wrong := &origin{files: map[string][]byte{"f": bad}}
	good := o.file("f")
	var asked atomic.Int64
	o.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if asked.Add(int64(block)) <= 4*block {
			wrong.serve(w, r)
			return true
		}
		return false
	}
	dir := t.TempDir()
	if err := get(t, dir, good); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, o.files)
}
