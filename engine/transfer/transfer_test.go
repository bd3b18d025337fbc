package transfer

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
