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

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

func TestDownload(t *testing.T) {
	o := newOrigin(t, map[string][]byte{
		"empty": {}, "config.json": content("config", 500), "sub/dir/one": content("one", block), "big": content("big", 5*block+7),
	})
	files := []File{o.file("empty"), gitFile(o.file("config.json"), o.files["config.json"]), o.file("sub/dir/one"), o.file("big")}
	dir := filepath.Join(t.TempDir(), "new")
	opt := options(dir)
	var last Progress
	opt.Progress = func(p Progress) { last = p }
	if err := Download(context.Background(), files, opt); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, o.files)
	if want := total(files); last.Done != want || last.Total != want || o.sent.Load() != want {
		t.Errorf("the progress ended with %+v, and %d bytes were sent, want %d", last, o.sent.Load(), want)
	}
	before := o.requests.Load()
	if before < 4+2 {
		t.Errorf("%d requests: the large file was not divided", before)
	}
	if err := get(t, dir, files...); err != nil || o.requests.Load() != before {
		t.Errorf("what was there was downloaded again: %d requests, %v", o.requests.Load()-before, err)
	}
}

// A source can bring the file along. It is verified like any other.
func TestContentOfSource(t *testing.T) {
	small := []byte("content")
	f, empty := gitFile(File{Path: "f", Size: int64(len(small)), Source: Source{Content: small}}, small), gitFile(File{Path: "e"}, nil)
	empty.Source.Content = []byte{}
	dir := t.TempDir()
	if err := get(t, dir, f, empty); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string][]byte{"f": small, "e": {}})
	for _, wrong := range []string{"CONTENT", "short", "too long a content"} {
		f.Source.Content, dir = []byte(wrong), t.TempDir()
		if err := get(t, dir, f); !errors.Is(err, ErrMismatch) {
			t.Errorf("%q: %v", wrong, err)
		}
		wantFiles(t, dir, map[string][]byte{})
	}
}

func TestPartsOfAddresses(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"a": content("a", 3*block), "b": content("b", 1000)})
	want := append(append([]byte(nil), o.files["b"][100:300]...), o.files["a"][5:2*block+50]...)
	want = append(want, o.files["b"][:10]...)
	f := gitFile(File{Path: "f", Size: int64(len(want))}, want)
	f.Source = Source{
		Fetches: []Fetch{{URL: o.URL + "/a"}, {URL: o.URL + "/b"}},
		Parts:   []Part{{Fetch: 1, Offset: 100, Length: 200}, {Fetch: 0, Offset: 5, Length: 2*block + 45}, {Fetch: 1, Length: 10}},
	}
	dir := t.TempDir()
	if err := get(t, dir, f); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string][]byte{"f": want})
}

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
		"another range": {func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 1-8/%d", len(big)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(big[1:9])
			return true
		}, 0},
		"416 to each range": {func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(big)))
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		}, 0},
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
		"another scheme": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ftp://x/y", 302) }, sdk.Unavailable, "redirect to ftp"},
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

// TestRedirects looks for headers that go to another host, and for requests that repeat a redirect.
func TestRedirects(t *testing.T) {
	files := map[string][]byte{"f": content("f", 6*block)}
	target := newOrigin(t, files)
	target.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if r.Header.Get("X-Key") != "" || r.Header.Get("Authorization") != "" || r.URL.RawQuery != "signature=1" {
			t.Errorf("the other host gets %s with %v", r.URL, r.Header)
		}
		return false
	}
	o := newOrigin(t, files)
	o.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		if r.Header.Get("X-Key") != "secret" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("the own host gets %v", r.Header)
		}
		http.Redirect(w, r, target.URL+r.URL.Path+"?signature=1", http.StatusFound)
		return true
	}
	dir := t.TempDir()
	if err := get(t, dir, o.file("f")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, files)
	if o.requests.Load() != 1 || target.requests.Load() < 4 {
		t.Errorf("%d requests to the origin, %d to where it leads", o.requests.Load(), target.requests.Load())
	}
}

// signed is a server whose addresses are good for some requests.
func signed(t *testing.T, uses int64) (*origin, func(context.Context, File) (Source, error), *atomic.Int64) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 24*block)})
	var signature, used atomic.Int64
	signature.Store(1)
	o.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if r.URL.RawQuery != fmt.Sprint(signature.Load()) || used.Add(1) > uses {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	return o, func(_ context.Context, f File) (Source, error) {
		next := signature.Add(1)
		used.Store(0)
		return Whole(fmt.Sprintf("%s/f?%d", o.URL, next), nil, f.Size), nil
	}, &signature
}

func TestSignatureExpires(t *testing.T) {
	o, renew, signature := signed(t, firstConnections+1) // so some of the first requests have ended
	f := o.file("f")
	f.Source = Whole(o.URL+"/f?1", nil, f.Size)
	dir, opt := t.TempDir(), Options{}
	var paused *PausedError
	err := get(t, dir, f)
	if !errors.As(err, &paused) || paused.Done == 0 || paused.Total != f.Size || sdk.CodeOf(err) != sdk.Unavailable {
		t.Fatalf("error = %v", err)
	}
	sent := o.sent.Load()
	opt = options(dir)
	opt.Renew = renew
	f.Source = Source{}
	if err := Download(context.Background(), []File{f}, opt); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, o.files)
	if signature.Load() < 3 {
		t.Errorf("the address was renewed %d times", signature.Load()-1)
	}
	if again := o.sent.Load() - sent; again > f.Size-paused.Done+4*bufferSize {
		t.Errorf("%d bytes were sent after the pause, and %d were missing", again, f.Size-paused.Done)
	}
}

func TestTimeIsOver(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 1000)})
	f, clock := o.file("f"), newClock()
	f.Source.Expires = clock.Now()
	err := Download(context.Background(), []File{f}, Options{Dir: t.TempDir(), Stall: fakeStall, block: block, clock: clock})
	if paused := (*PausedError)(nil); !errors.As(err, &paused) || o.requests.Load() != 0 {
		t.Errorf("%d requests, error = %v", o.requests.Load(), err)
	}
	renewed := 0
	err = Download(context.Background(), []File{f}, Options{Dir: t.TempDir(), Stall: fakeStall, block: block, clock: clock, Renew: func(_ context.Context, f File) (Source, error) {
		if renewed++; renewed == 1 {
			return Source{}, sdk.Errorf(sdk.Unavailable, "not now")
		}
		return o.file("f").Source, nil
	}})
	if err != nil || renewed != 2 {
		t.Errorf("renewed %d times, error = %v", renewed, err)
	}
}

// TestRefusedForGood has a server accept no new address.
func TestRefusedForGood(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 8*block)})
	o.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		if n > 1 {
			w.WriteHeader(http.StatusForbidden)
		}
		return n > 1
	}
	opt := options(t.TempDir())
	opt.Renew = func(context.Context, File) (Source, error) { return o.file("f").Source, nil }
	if err := Download(context.Background(), []File{o.file("f")}, opt); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("error = %v", err)
	}
}

func TestCancelKeepsWhatHasArrived(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 8*block)})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		switch {
		case n <= 2:
			return false
		case n == firstConnections+1: // so one of the first two is complete
			cancel()
		}
		<-r.Context().Done()
		return true
	}
	dir := t.TempDir()
	if err := Download(ctx, []File{o.file("f")}, options(dir)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
		t.Error("an incomplete file has its name")
	}
	s := newSidecar(filepath.Join(dir, "f.incomplete.ranges"), o.file("f"))
	if err := s.load(); err != nil || len(s.recorded) == 0 {
		t.Fatalf("nothing is recorded: %v", err)
	}
	o.fault = nil
	before := o.sent.Load()
	if err := get(t, dir, o.file("f")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, o.files)
	if sent := o.sent.Load() - before; sent != 8*block-s.recorded.bytes() {
		t.Errorf("%d bytes were sent, and %d were missing", sent, 8*block-s.recorded.bytes())
	}
}

// TestDamagedLeftovers continues from files that do not fit, and ends with the right one.
func TestDamagedLeftovers(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 2*block)})
	f := o.file("f")
	full := newSidecar("", f)
	done := string(full.header) + string(formatLine(span{0, 2 * block}))
	half := string(full.header) + string(formatLine(span{0, block}))
	other := newSidecar("", File{Size: f.Size})
	for name, tc := range map[string]struct{ data, sidecar string }{
		"wrong bytes":      {string(content("g", 2*block)), done},
		"half of the file": {string(o.files["f"][:block]), done},
		"too long":         {string(content("f", 3*block)), half},
		"of another file":  {string(content("g", 2*block)), string(other.header) + string(formatLine(span{0, block}))},
		"torn record":      {string(o.files["f"][:block]), half + "262144 52"},
		"false record":     {string(content("g", 2*block)), string(full.header) + "0 524288 00000000\n"},
		"no record":        {string(o.files["f"][:block]), ""},
		"garbage":          {"x", "garbage\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := errors.Join(os.WriteFile(dir+"/f.incomplete", []byte(tc.data), 0o600), os.WriteFile(dir+"/f.incomplete.ranges", []byte(tc.sidecar), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			if err := get(t, dir, f); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, o.files)
		})
	}
}

// TestTogether has several who want the same files download each of them once.
func TestTogether(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"a": content("a", 2*block), "b": content("b", 1000), "c": content("c", 3*block)})
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := get(t, dir, o.file("a"), o.file("b"), o.file("c")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantFiles(t, dir, o.files)
	if o.sent.Load() != 5*block+1000 {
		t.Errorf("%d bytes were sent", o.sent.Load())
	}
}

func TestRefusedPlans(t *testing.T) {
	at := Whole("http://127.0.0.1:1/x", nil, 1)
	for name, tc := range map[string]struct {
		files []File
		text  string
	}{
		"up":             {[]File{{Path: "../x", Size: 1, Source: at}}, "not a plain relative path"},
		"absolute":       {[]File{{Path: "/x", Size: 1, Source: at}}, "not a plain relative path"},
		"backslash":      {[]File{{Path: `a\b`, Size: 1, Source: at}}, "not a plain relative path"},
		"case":           {[]File{{Path: "Readme", Size: 1, Source: at}, {Path: "README", Size: 1, Source: at}}, `"Readme" and "README" are one name`},
		"folder":         {[]File{{Path: "A/b", Size: 1, Source: at}, {Path: "a", Size: 1, Source: at}}, `"a" is both a file and a folder`},
		"working file":   {[]File{{Path: "a", Size: 1, Source: at}, {Path: "a.incomplete", Size: 1, Source: at}}, `is needed during the download of "a"`},
		"negative":       {[]File{{Path: "a", Size: -1, Source: at}}, "negative size"},
		"digest":         {[]File{{Path: "a", Size: 1, SHA256: "xyz", Source: at}}, "not 64 hexadecimal digits"},
		"git digest":     {[]File{{Path: "a", Size: 1, GitSHA1: "00", Source: at}}, "not 40 hexadecimal digits"},
		"no source":      {[]File{{Path: "a", Size: 1}}, "its parts have 0"},
		"sum":            {[]File{{Path: "a", Size: 2, Source: at}}, "its parts have 1"},
		"too many bytes": {[]File{{Path: "a", Size: 0, Source: at}}, "does not fit"},
		"scheme":         {[]File{{Path: "a", Size: 1, Source: Whole("file:///etc/passwd", nil, 1)}}, "neither http nor https"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new")
			err := get(t, dir, tc.files...)
			if sdk.CodeOf(err) != sdk.Invalid || err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error = %v", err)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the folder was made")
			}
		})
	}
}

func TestNoSpaceAtFirst(t *testing.T) {
	f := File{Path: "f", Size: 1 << 60, Source: Whole("http://127.0.0.1:1/x", nil, 1<<60)}
	if err := get(t, t.TempDir(), f); !errors.Is(err, state.ErrNoSpace) || !strings.Contains(err.Error(), "MB are free") {
		t.Errorf("error = %v", err)
	}
}
