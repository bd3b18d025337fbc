package hubcache

import (
	"bytes"
	"context"
	"crypto/sha1"
	sha2 "crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

const commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// hub is a server of files, and a request for all of them.
type hub struct {
	t        *testing.T
	url      string
	files    map[string][]byte
	requests atomic.Int64
	notices  []Notice
	before   func(path string) // is called before a file is sent; may be nil
	mu       sync.Mutex
}

var contents = map[string][]byte{
	"config.json":       []byte(`{"layers": 2}`),
	"empty":             {},
	"same/config.json":  []byte(`{"layers": 2}`),
	"model.safetensors": bytes.Repeat([]byte("0123456789abcdef"), 64<<10), // 1 MiB
}

func (h *hub) setBefore(do func(path string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = do
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, files: contents}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		path := strings.TrimPrefix(r.URL.Path, "/")
		h.mu.Lock()
		before := h.before
		h.mu.Unlock()
		if before != nil {
			before(path)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.files[path]))
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// fileOf has the hash that the Hub tells: of a large file its SHA-256, of others git's.
func fileOf(path string, data []byte) sdk.ModelFile {
	f := sdk.ModelFile{Path: path, Size: int64(len(data))}
	if strings.HasSuffix(path, ".safetensors") {
		f.SHA256 = fmt.Sprintf("%x", sha2.Sum256(data))
	} else {
		f.GitSHA1 = fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...)))
	}
	return f
}

func (h *hub) request() Request {
	r := Request{
		Name: "org/tiny", Canonical: "org/tiny", Commit: commitA,
		Locate: func(_ context.Context, path string) (transfer.Source, error) {
			return transfer.Whole(h.url+"/"+path, nil, int64(len(h.files[path]))), nil
		},
		Notify: func(n Notice) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.notices = append(h.notices, n)
		},
	}
	for path, data := range h.files {
		r.Files = append(r.Files, fileOf(path, data))
	}
	slices.SortFunc(r.Files, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) })
	return r
}

func newCache(t *testing.T) Cache {
	t.Helper()
	dir := t.TempDir()
	return Cache{Dir: filepath.Join(dir, "hub"), Own: filepath.Join(dir, "own")}
}

func (h *hub) store(c Cache, r Request) string {
	h.t.Helper()
	dir, err := c.Store(h.t.Context(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range r.Files {
		info, err := os.Lstat(filepath.Join(dir, f.Path))
		if err != nil || !info.Mode().IsRegular() {
			h.t.Errorf("%s is not a plain file: %v", f.Path, err)
			continue
		}
		if data, err := os.ReadFile(filepath.Join(dir, f.Path)); err != nil || !bytes.Equal(data, h.files[f.Path]) {
			h.t.Errorf("%s: %d bytes, %v", f.Path, len(data), err)
		}
	}
	return dir
}

// lay writes a repository as the Hub's clients do.
func lay(t *testing.T, c Cache, folder, commit string, files map[string][]byte) {
	t.Helper()
	repo := filepath.Join(c.Dir, folder)
	write(t, filepath.Join(repo, "refs", "main"), []byte(commit))
	for path, data := range files {
		name := blobName(fileOf(path, data))
		write(t, filepath.Join(repo, "blobs", name), data)
		link := filepath.Join(repo, "snapshots", commit, path)
		up := strings.Repeat("../", 2+strings.Count(path, "/"))
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(up+"blobs/"+name, link); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	testkit.WriteFile(t, path, string(data))
}

func TestStore(t *testing.T) {
	h, c := newHub(t), newCache(t)
	r := h.request()
	r.Others = []sdk.ModelFile{fileOf("other.safetensors", []byte("pictures"))}
	var last transfer.Progress
	r.Transfer.Progress = func(p transfer.Progress) { last = p }
	dir := h.store(c, r)
	if last.Done != last.Total || last.Total != 1<<20+13 {
		t.Errorf("progress ended at %+v", last)
	}
	if h.requests.Load() != 3 {
		t.Errorf("%d requests for 3 contents", h.requests.Load())
	}
	repo := filepath.Join(c.Dir, "models--org--tiny")
	if got := testkit.ReadFile(t, filepath.Join(repo, "refs", "main")); got != commitA {
		t.Errorf("refs/main = %q", got)
	}
	nested := filepath.Join(repo, "snapshots", commitA, "same", "config.json")
	blob := blobName(fileOf("x", contents["config.json"]))
	if to, err := os.Readlink(nested); err != nil || to != "../../../blobs/"+blob {
		t.Errorf("link to %q, %v", to, err)
	}
	if !same(nested, filepath.Join(dir, "config.json")) {
		t.Error("the weights are there twice")
	}
	if info, err := os.Stat(nested); err != nil || info.Mode().Perm()&0o044 != 0o044 {
		t.Errorf("a blob is closed to others: %v, %v", info.Mode(), err)
	}
	if lock, err := os.Stat(filepath.Join(c.Dir, ".locks", "models--org--tiny", blob+".lock")); err != nil || lock.Mode().Perm() != 0o664 {
		t.Errorf("lock: %v, %v", lock, err)
	}
	if !strings.HasPrefix(testkit.ReadFile(t, filepath.Join(c.Dir, "CACHEDIR.TAG")), "Signature: 8a477f597d28d172789f06886806bc55\n") {
		t.Error("no CACHEDIR.TAG")
	}
	for _, pattern := range []string{"blobs/*.*", "blobs/.*", "snapshots/.*"} {
		if left, _ := filepath.Glob(filepath.Join(repo, pattern)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.Own, "hub", "*", "*.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	h.store(c, r)
	if h.requests.Load() != 3 || len(h.notices) > 0 {
		t.Errorf("%d requests, notices %v", h.requests.Load(), h.notices)
	}
}

func TestTree(t *testing.T) {
	h, c := newHub(t), newCache(t)
	r := h.request()
	r.Part = strings.Repeat("1", 16)
	h.store(c, r)
	path := filepath.Join(c.Dir, "models--org--tiny", "trees", commitA+".json")
	if _, err := os.Stat(path); err == nil {
		t.Fatal("a list was written that may lack files")
	}
	c = newCache(t)
	path = filepath.Join(c.Dir, "models--org--tiny", "trees", commitA+".json")
	r.Part, r.Others = "", []sdk.ModelFile{fileOf("b.safetensors", []byte("b"))}
	h.store(c, r)
	var tree struct {
		Version int `json:"format_version"`
		Files   map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(testkit.ReadFile(t, path)), &tree); err != nil || tree.Version != 1 || len(tree.Files) != 5 {
		t.Fatalf("%+v, %v", tree, err)
	}
	// git hash-object of the pointer of a file "b"
	if id := tree.Files["b.safetensors"]["blob_id"]; id != "8b620c95c50c05a8cea38a1f952713f96a4396d9" {
		t.Errorf("blob_id = %v", id)
	}
	if plain := tree.Files["empty"]; len(plain) != 2 || plain["size"] != 0.0 || plain["blob_id"] != "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" {
		t.Errorf("%v", plain)
	}
}

func TestRevisions(t *testing.T) {
	h, c := newHub(t), newCache(t)
	for _, revision := range []string{"v1", "refs/pr/1", commitA, "../x"} {
		r := h.request()
		r.Revision = revision
		h.store(c, r)
	}
	refs, err := readRefs(filepath.Join(c.Dir, "models--org--tiny"))
	if err != nil || fmt.Sprint(refs) != "map["+commitA+":[refs/pr/1 v1]]" {
		t.Errorf("%v, %v", refs, err)
	}
}

// What another client has downloaded is not downloaded again, and read once.
func TestCacheOfOthers(t *testing.T) {
	h, c := newHub(t), newCache(t)
	lay(t, c, "models--org--tiny", commitA, contents)
	dir := h.store(c, h.request())
	if h.requests.Load() != 0 {
		t.Errorf("%d requests", h.requests.Load())
	}
	weights := fileOf("model.safetensors", contents["model.safetensors"])
	s, _, err := stampOf(filepath.Join(dir, "model.safetensors"))
	if err != nil || !c.notes().have(weights.SHA256, s) {
		t.Errorf("what was read is not remembered: %v", err)
	}
	// A file with the same size and another content is noticed by its times.
	blob := filepath.Join(c.Dir, "models--org--tiny", "blobs", weights.SHA256)
	write(t, blob, bytes.Repeat([]byte("x"), len(contents["model.safetensors"])))
	h.store(c, h.request())
	if h.requests.Load() != 1 || len(h.notices) == 0 || h.notices[0].Kind != Mismatch || h.notices[0].Path != blob {
		t.Errorf("%d requests, %v", h.requests.Load(), h.notices)
	}
	if !same(blob, filepath.Join(dir, "model.safetensors")) {
		t.Error("the right file is not the blob")
	}
}

// A wrong blob stays until a right one is there.
func TestWrongBlobStays(t *testing.T) {
	h, c := newHub(t), newCache(t)
	wrong := map[string][]byte{"config.json": []byte("half")}
	lay(t, c, "models--org--tiny", commitA, contents)
	blob := filepath.Join(c.Dir, "models--org--tiny", "blobs", blobName(fileOf("config.json", contents["config.json"])))
	write(t, blob, wrong["config.json"])
	r := h.request()
	r.Locate = func(context.Context, string) (transfer.Source, error) {
		return transfer.Source{}, sdk.Errorf(sdk.NotFound, "gone")
	}
	if _, err := c.Store(t.Context(), r); sdk.CodeOf(err) != sdk.NotFound {
		t.Fatal(err)
	}
	if testkit.ReadFile(t, blob) != "half" {
		t.Error("the blob was destroyed")
	}
	h.store(c, h.request())
}

// A client that cannot make links has put a file into the snapshot; another one has a link
// into the store that repositories share.
func TestOtherLayouts(t *testing.T) {
	h, c := newHub(t), newCache(t)
	repo := filepath.Join(c.Dir, "models--org--tiny")
	write(t, filepath.Join(repo, "snapshots", commitA, "config.json"), contents["config.json"])
	shared := filepath.Join(c.Dir, "blobs", "ab", "ab"+strings.Repeat("0", 62))
	write(t, filepath.Join(c.Dir, "blobs", ".huggingface-shared-blobs"), []byte("1\n"))
	write(t, shared, contents["model.safetensors"])
	blob := filepath.Join(repo, "blobs", fileOf("model.safetensors", contents["model.safetensors"]).SHA256)
	if err := os.MkdirAll(filepath.Dir(blob), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../blobs/ab/"+filepath.Base(shared), blob); err != nil {
		t.Fatal(err)
	}
	dir := h.store(c, h.request())
	if h.requests.Load() != 1 { // the empty file
		t.Errorf("%d requests", h.requests.Load())
	}
	if info, err := os.Lstat(blob); err != nil || info.Mode().Type() != os.ModeSymlink || !same(shared, filepath.Join(dir, "model.safetensors")) {
		t.Errorf("the shared blob was not used as it is: %v", err)
	}
}

// The Hub has renamed the repository: clients use the name that they are given.
func TestRenamed(t *testing.T) {
	h, c := newHub(t), newCache(t)
	lay(t, c, "models--tiny", commitA, contents)
	r := h.request()
	r.Name = "tiny"
	h.store(c, r)
	if _, err := os.Stat(filepath.Join(c.Dir, "models--org--tiny")); err == nil || h.requests.Load() != 0 {
		t.Errorf("%d requests, %v", h.requests.Load(), err)
	}
	c = newCache(t)
	lay(t, c, "models--org--tiny", commitA, contents)
	h.store(c, r)
	if h.requests.Load() != 0 {
		t.Errorf("%d requests", h.requests.Load())
	}
}

// A view outlives what the user removes from the Hub's cache, and brings it back there.
func TestViewOutlivesCache(t *testing.T) {
	h, c := newHub(t), newCache(t)
	h.store(c, h.request())
	before := h.requests.Load()
	dir := ""
	for range 2 {
		if err := os.RemoveAll(c.Dir); err != nil {
			t.Fatal(err)
		}
		if dir == "" {
			dir = h.store(c, h.request())
		}
	}
	if err := os.Remove(filepath.Join(dir, "empty")); err != nil {
		t.Fatal(err)
	}
	h.store(c, h.request())
	if n := h.requests.Load() - before; n != 1 {
		t.Errorf("%d requests for the one file that was gone", n)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "models--org--tiny", "snapshots", commitA, "model.safetensors")); err != nil {
		t.Errorf("the snapshot does not have what the view has: %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"org/tiny": "models--org--tiny", "gpt2": "models--gpt2", "datasets/org/d.1_x": "datasets--org--d.1_x",
		"": "", "a/b/c": "", "../x": "", "a--b": "", "a/": "", "-a": "", "a/..": "", "datasets/": "",
	} {
		got, err := folderName(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if back, ok := repoName(got); want != "" && (!ok || back != name) {
			t.Errorf("%q came back as %q", name, back)
		}
	}
	for _, folder := range []string{".locks", "blobs", "models", "models--", "spaces--a--b", "models--a--b--c", "models--.."} {
		if name, ok := repoName(folder); ok {
			t.Errorf("%s is taken for %s", folder, name)
		}
	}
}

func TestDir(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/h/.cache/huggingface/hub": {"HOME": "/h"},
		"/x/huggingface/hub":        {"HOME": "/h", "XDG_CACHE_HOME": "/x"},
		"/hf/hub":                   {"HOME": "/h", "XDG_CACHE_HOME": "/x", "HF_HOME": "/hf"},
		"/old":                      {"HF_HOME": "/hf", "HUGGINGFACE_HUB_CACHE": "/old"},
		"/h/c":                      {"HOME": "/h", "HF_HOME": "/hf", "HF_HUB_CACHE": "~/c"},
		"/s/me/hub":                 {"SCRATCH": "/s", "USER": "me", "HF_HOME": "$SCRATCH/${USER}"},
		"/$NONE/hub":                {"HF_HOME": "/$NONE"},
	} {
		if got, err := Dir(func(name string) string { return env[name] }); err != nil || got != want {
			t.Errorf("%v: %q, %v", env, got, err)
		}
	}
	if _, err := Dir(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Error(err)
	}
}
