package fetch_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// fake is a fetcher whose files are known.
type fake struct {
	revision string
	files    []sdk.ModelFile
	locate   func(path string) (sdk.Location, error)
}

func (f *fake) Resolve(context.Context, sdk.ModelRef) (sdk.ResolvedModel, error) {
	return sdk.ResolvedModel{Name: "org/tiny", Revision: f.revision, Files: f.files}, nil
}

func (f *fake) Locate(_ context.Context, r sdk.FileRef) (sdk.Location, error) {
	return f.locate(r.Path)
}

var contents = map[string][]byte{
	"config.json":       []byte(`{"layers": 2}`),
	"empty":             {},
	"model.safetensors": bytes.Repeat([]byte("0123456789abcdef"), 64<<10), // 1 MiB
	"sub/tokens.txt":    []byte("a b c"),
}

func file(path string) sdk.ModelFile {
	data := contents[path]
	sum := sha256.Sum256(data)
	return sdk.ModelFile{Path: path, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
}

// model offers contents at a server.
func model(base string) *fake {
	f := &fake{revision: "r1", locate: func(path string) (sdk.Location, error) {
		return sdk.Location{URL: base + "/" + path, Headers: map[string]string{"X-Key": "secret"}}, nil
	}}
	for _, path := range []string{"config.json", "empty", "model.safetensors", "sub/tokens.txt"} {
		f.files = append(f.files, file(path))
	}
	git := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(contents["config.json"])), contents["config.json"]...))
	f.files[0].SHA256, f.files[0].GitSHA1 = "", hex.EncodeToString(git[:])
	return f
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// counted serves the contents, and counts the requests.
func counted(t *testing.T) (string, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		good(w, r)
	}), &requests
}

func good(w http.ResponseWriter, r *http.Request) {
	data, ok := contents[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

var ref = sdk.ModelRef{Source: "acme", Name: "org/tiny"}

func get(t *testing.T, f sdk.Fetcher, cache string) (fetch.Model, error) {
	t.Helper()
	return fetch.Fetch(context.Background(), f, ref, fetch.Options{CacheDir: cache})
}

func wantComplete(t *testing.T, m fetch.Model, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range contents {
		got, err := os.ReadFile(filepath.Join(m.Dir, path))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
}

// leftovers are names below dir that belong to no complete model.
func leftovers(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".partial") || strings.HasSuffix(path, ".lock") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDownload(t *testing.T) {
	base, requests := counted(t)
	cache := t.TempDir()
	var last, calls int64
	m, err := fetch.Fetch(context.Background(), model(base), ref, fetch.Options{CacheDir: cache, Progress: func(p fetch.Progress) {
		calls++
		last = p.Done
		if p.Total != 1048594 || p.Done > p.Total {
			t.Errorf("progress %+v", p)
		}
	}})
	wantComplete(t, m, err)
	if m.Dir != filepath.Join(cache, "acme", "org%2Ftiny", "r1") || m.Bytes != 1048594 || m.Source != "acme" || len(m.Files) != 4 {
		t.Errorf("model = %+v", m)
	}
	if last != m.Bytes || calls == 0 {
		t.Errorf("progress ended at %d after %d calls", last, calls)
	}
	before := requests.Load()
	m, err = get(t, model(base), cache)
	wantComplete(t, m, err)
	if requests.Load() != before {
		t.Error("a complete model was downloaded again")
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.Remove(filepath.Join(m.Dir, "config.json")); err != nil {
		t.Fatal(err)
	}
	m, err = get(t, model(base), cache)
	wantComplete(t, m, err)
}

func TestResume(t *testing.T) {
	var ranges sync.Map
	cut := true
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/model.safetensors" {
			good(w, r)
			return
		}
		ranges.Store(r.Header.Get("Range"), true)
		if cut {
			cut = false
			data := contents["model.safetensors"]
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data[:300_000])
			panic(http.ErrAbortHandler)
		}
		good(w, r)
	})
	m, err := get(t, model(base), t.TempDir())
	wantComplete(t, m, err)
	found := false
	ranges.Range(func(k, _ any) bool { found = found || strings.HasPrefix(k.(string), "bytes="); return true })
	if !found {
		t.Error("the download began anew instead of going on")
	}
}

func TestServerThatCannotResume(t *testing.T) {
	first := true
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data := contents[strings.TrimPrefix(r.URL.Path, "/")]
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if r.URL.Path == "/model.safetensors" && first {
			first = false
			_, _ = w.Write(data[:300_000])
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(data) // whatever the range
	})
	m, err := get(t, model(base), t.TempDir())
	wantComplete(t, m, err)
}

func TestStall(t *testing.T) {
	var first atomic.Bool
	first.Store(true)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/model.safetensors" && first.Swap(false) {
			<-r.Context().Done()
			return
		}
		good(w, r)
	})
	m, err := fetch.Fetch(context.Background(), model(base), ref, fetch.Options{CacheDir: t.TempDir(), Stall: 100 * time.Millisecond})
	wantComplete(t, m, err)
}

func TestPassingFaults(t *testing.T) {
	var n atomic.Int64
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		good(w, r)
	})
	m, err := get(t, model(base), t.TempDir())
	wantComplete(t, m, err)
}

func TestDownloadErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		code    sdk.Code
		text    string
	}{
		"missing":      {http.NotFound, sdk.NotFound, "404"},
		"unauthorized": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, sdk.Unauthorized, "403"},
		"other content": {func(w http.ResponseWriter, r *http.Request) {
			data := bytes.Repeat([]byte("x"), len(contents[r.URL.Path[1:]]))
			_, _ = w.Write(data)
		}, sdk.Internal, "not the file that was promised"},
		"too long": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(append(bytes.Clone(contents[r.URL.Path[1:]]), 'x'))
		}, sdk.Internal, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			_, err := get(t, model(serve(t, tc.handler)), cache)
			if sdk.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), "model org/tiny: download ") {
				t.Errorf("error = %v (%s)", err, sdk.CodeOf(err))
			}
			if _, err := os.Stat(filepath.Join(cache, "acme", "org%2Ftiny", "r1")); err == nil {
				t.Error("an incomplete model has its name")
			}
		})
	}
}

// What the fetcher gives for one host is not carried to another.
func TestRedirectDropsHeaders(t *testing.T) {
	var leaked atomic.Bool
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			leaked.Store(true)
		}
		good(w, r)
	})
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" {
			t.Error("the header did not arrive at its own host")
		}
		http.Redirect(w, r, "http://localhost:"+u.Port()+r.URL.Path, http.StatusFound)
	})
	m, err := get(t, model(base), t.TempDir())
	wantComplete(t, m, err)
	if leaked.Load() {
		t.Error("a header went to another host")
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := fetch.Fetch(ctx, model(base), ref, fetch.Options{CacheDir: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

// Several who want the same model download it once.
func TestTogether(t *testing.T) {
	base, requests := counted(t)
	cache := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := fetch.Fetch(context.Background(), model(base), ref, fetch.Options{CacheDir: cache}); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if requests.Load() != 4 {
		t.Errorf("%d requests for 4 files", requests.Load())
	}
}

func TestNoSpace(t *testing.T) {
	f := model("http://127.0.0.1:1")
	f.files[2].Size = 1 << 60
	_, err := get(t, f, t.TempDir())
	if !errors.Is(err, state.ErrNoSpace) || !strings.Contains(err.Error(), "MB are free") {
		t.Errorf("error = %v", err)
	}
}

func TestHostileFetcher(t *testing.T) {
	at := func(u string) func(string) (sdk.Location, error) {
		return func(string) (sdk.Location, error) { return sdk.Location{URL: u}, nil }
	}
	for name, tc := range map[string]struct {
		change func(*fake)
		text   string
	}{
		"up":            {func(f *fake) { f.files[0].Path = "../config.json" }, "not a plain relative path"},
		"absolute":      {func(f *fake) { f.files[0].Path = "/etc/passwd" }, "not a plain relative path"},
		"NUL":           {func(f *fake) { f.files[0].Path = "a\x00b" }, "not a plain relative path"},
		"backslash":     {func(f *fake) { f.files[0].Path = `a\b` }, "not a plain relative path"},
		"twice":         {func(f *fake) { f.files[0].Path = "empty" }, "twice"},
		"file a folder": {func(f *fake) { f.files[0].Path = "sub" }, "both a file and a folder"},
		"negative":      {func(f *fake) { f.files[0].Size = -1 }, "negative size"},
		"no files":      {func(f *fake) { f.files = nil }, "no files"},
		"no revision":   {func(f *fake) { f.revision = "" }, "no revision"},
		"bad revision":  {func(f *fake) { f.revision = ".." }, "name of a folder"},
		"long revision": {func(f *fake) { f.revision = strings.Repeat("x", 300) }, "name of a folder"},
		"gopher":        {func(f *fake) { f.locate = at("gopher://x/y") }, `"gopher"`},
		"no host":       {func(f *fake) { f.locate = at("http:///x") }, "without a host"},
		"relative file": {func(f *fake) { f.locate = at("file:x") }, "not an absolute path"},
		"other machine": {func(f *fake) { f.locate = at("file://host/x") }, "not an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			f := model("http://127.0.0.1:1")
			tc.change(f)
			_, err := get(t, f, cache)
			if err == nil || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), `the fetcher of "acme" is wrong`) {
				t.Errorf("error = %v", err)
			}
			if entries, _ := os.ReadDir(cache); len(entries) != 0 {
				t.Errorf("the cache was touched: %v", entries)
			}
		})
	}
}

// local offers contents in a folder.
func local(t *testing.T) (*fake, string) {
	t.Helper()
	dir := testkit.WriteFiles(t, t.TempDir(), contents)
	f := model("")
	f.locate = func(path string) (sdk.Location, error) {
		return sdk.Location{URL: (&url.URL{Scheme: "file", Path: dir + "/" + path}).String()}, nil
	}
	return f, dir
}

func TestInPlace(t *testing.T) {
	f, dir := local(t)
	m, err := fetch.Fetch(context.Background(), f, ref, fetch.Options{Folders: []string{dir}})
	wantComplete(t, m, err)
	if m.Dir != dir {
		t.Errorf("dir = %s, want %s", m.Dir, dir)
	}
}

func TestInPlaceRefuses(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, contents["config.json"], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, f *fake, dir string) []string
		code   sdk.Code
		text   string
	}{
		"not granted": {func(*testing.T, *fake, string) []string { return nil }, sdk.Unauthorized, "none that the experiment names"},
		"link out": {func(t *testing.T, _ *fake, dir string) []string {
			path := filepath.Join(dir, "config.json")
			if err := errors.Join(os.Remove(path), os.Symlink(secret, path)); err != nil {
				t.Fatal(err)
			}
			return []string{dir}
		}, sdk.Invalid, "leaves the model's folder"},
		"missing": {func(t *testing.T, _ *fake, dir string) []string {
			if err := os.Remove(filepath.Join(dir, "config.json")); err != nil {
				t.Fatal(err)
			}
			return []string{dir}
		}, sdk.NotFound, "config.json cannot be used"},
		"link in a circle": {func(t *testing.T, _ *fake, dir string) []string {
			path := filepath.Join(dir, "config.json")
			if err := errors.Join(os.Remove(path), os.Symlink(path, path)); err != nil {
				t.Fatal(err)
			}
			return []string{dir}
		}, sdk.Invalid, "config.json cannot be used"},
		"folder in a circle": {func(t *testing.T, _ *fake, dir string) []string {
			if err := errors.Join(os.RemoveAll(dir), os.Symlink(dir, dir)); err != nil {
				t.Fatal(err)
			}
			return []string{dir}
		}, sdk.Invalid, "cannot be used"},
		"another size": {func(_ *testing.T, f *fake, dir string) []string {
			f.files[0].Size++
			return []string{dir}
		}, sdk.Unavailable, "is changing"},
		"elsewhere": {func(_ *testing.T, f *fake, dir string) []string {
			inner := f.locate
			f.locate = func(path string) (sdk.Location, error) {
				if path == "empty" {
					return sdk.Location{URL: "file://" + secret}, nil
				}
				return inner(path)
			}
			return []string{dir}
		}, sdk.Internal, "not in the same folder"},
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := local(t)
			folders := tc.change(t, f, dir)
			_, err := fetch.Fetch(context.Background(), f, ref, fetch.Options{Folders: folders})
			if sdk.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error = %v (%s)", err, sdk.CodeOf(err))
			}
		})
	}
}
