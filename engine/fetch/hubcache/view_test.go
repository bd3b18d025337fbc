package hubcache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/sdk"
)

// elsewhere makes the engine's cache lie on another file system.
func elsewhere(c *Cache) {
	own := c.Own
	c.link = func(from, to string) error {
		if strings.HasPrefix(from, own) != strings.HasPrefix(to, own) {
			return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EXDEV}
		}
		return os.Link(from, to)
	}
}

func TestOtherFileSystem(t *testing.T) {
	h, c := newHub(t), newCache(t)
	elsewhere(&c)
	dir := h.store(c, h.request())
	if want := filepath.Join(c.Dir, "models--org--tiny", ".seer", commitA); dir != want || len(h.notices) > 0 {
		t.Errorf("the view is %s, want %s; %v", dir, want, h.notices)
	}
	h.store(c, h.request())
	// The user moves the cache to the engine's file system.
	c.link = nil
	if err := os.Remove(filepath.Join(dir, "empty")); err != nil {
		t.Fatal(err)
	}
	if dir := h.store(c, h.request()); !strings.HasPrefix(dir, c.Own) {
		t.Errorf("the view is %s", dir)
	}
	if h.requests.Load() != 3 {
		t.Errorf("%d requests", h.requests.Load())
	}
}

// Files of somebody else cannot be linked on many systems.
func TestCopies(t *testing.T) {
	h, c := newHub(t), newCache(t)
	lay(t, c, "models--org--tiny", commitA, contents)
	c.link = func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM} }
	dir := h.store(c, h.request())
	if len(h.notices) != 1 || h.notices[0] != (Notice{Kind: Copied, Path: c.Dir, Bytes: 1<<20 + 2*13}) || h.requests.Load() != 0 {
		t.Errorf("%d requests, %v", h.requests.Load(), h.notices)
	}
	if err := os.Remove(filepath.Join(dir, "config.json")); err != nil {
		t.Fatal(err)
	}
	h.store(c, h.request())
	if len(h.notices) != 2 || h.notices[1].Bytes != 13 {
		t.Errorf("more was copied than was missing: %v", h.notices)
	}
}

// What a cache has that cannot be written is used from there.
func TestReadOnly(t *testing.T) {
	h, c := newHub(t), newCache(t)
	repo := filepath.Join(c.Dir, "models--org--tiny")
	write(t, filepath.Join(repo, "snapshots", commitA, "config.json"), contents["config.json"])
	write(t, filepath.Join(repo, "blobs"), nil) // no folder can be made, by root neither
	dir := h.store(c, h.request())
	if h.requests.Load() != 2 || len(h.notices) != 1 || h.notices[0] != (Notice{Kind: ReadOnly, Path: c.Dir}) {
		t.Errorf("%d requests, %v", h.requests.Load(), h.notices)
	}
	if !same(filepath.Join(dir, "config.json"), filepath.Join(repo, "snapshots", commitA, "config.json")) {
		t.Error("what the cache has is there twice")
	}
	h.store(c, h.request())
	if h.requests.Load() != 2 || len(h.notices) != 1 {
		t.Errorf("%d requests, %v", h.requests.Load(), h.notices)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Own, "hub", "*", "*.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Blobs have no names of files, so that only the view and the snapshot can be too narrow.
func TestCase(t *testing.T) {
	h, c := newHub(t), newCache(t)
	h.files = map[string][]byte{"README.md": []byte("one"), "readme.md": []byte("two")}
	for _, narrow := range []string{filepath.Join(c.Own, "hub"), filepath.Join(c.Dir, "models--org--tiny", "blobs")} {
		c.folds = func(dir string) bool { return strings.HasPrefix(dir, narrow) }
		_, err := c.Store(t.Context(), h.request())
		if sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), `"README.md" and "readme.md" are one name in `+narrow) {
			t.Error(err)
		}
	}
	if h.requests.Load() > 0 {
		t.Error("a file was downloaded")
	}
	c.folds = nil
	if !foldsCase(t.TempDir()) {
		h.store(c, h.request())
	}
}

func TestRequestRefused(t *testing.T) {
	h, c := newHub(t), newCache(t)
	for text, change := range map[string]func(*Request){
		"not the name":  func(r *Request) { r.Canonical = "../x" },
		"its commit":    func(r *Request) { r.Commit = "main" },
		"hash of a fil": func(r *Request) { r.Files[0].GitSHA1 = "" },
		"two sizes":     func(r *Request) { r.Files[0].Size++ },
	} {
		r := h.request()
		change(&r)
		if _, err := c.Store(t.Context(), r); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := os.Stat(c.Dir); err == nil {
		t.Error("the cache was touched")
	}
}

func TestViewsAreItems(t *testing.T) {
	h, c := newHub(t), newCache(t)
	dir := h.store(c, h.request())
	other := c
	elsewhere(&other)
	r := h.request()
	r.Commit = strings.Repeat("b", 40)
	inside := h.store(other, r)
	refs := &cachegc.References{}
	refs.Add(RefView, inside)
	items, err := Views(c.Own).Items(t.Context(), refs)
	if err != nil || len(items) != 2 || items[0].Name != "org/tiny" || items[0].Needed || !items[1].Needed || time.Since(items[0].Last) > time.Hour {
		t.Fatalf("%+v, %v", items, err)
	}
	if items[0].Bytes != 0 {
		t.Errorf("a view takes %d bytes beside the blobs", items[0].Bytes)
	}
	for _, i := range items {
		if err := i.Remove(); err != nil {
			t.Error(err)
		}
	}
	for _, gone := range []string{dir, inside, c.viewPath("org/tiny", r.Commit)} {
		if _, err := os.Lstat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there", gone)
		}
	}
	if left, err := Views(c.Own).Items(t.Context(), refs); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
	h.store(c, h.request())
	if h.requests.Load() != 3 {
		t.Errorf("blobs were removed: %d requests", h.requests.Load())
	}
}

// Parts of one commit have views of their own, which are items of the cache, and go with the
// commit.
func TestViewsOfParts(t *testing.T) {
	h, c := newHub(t), newCache(t)
	whole := h.store(c, h.request())
	r := h.request()
	r.Files, r.Part = r.Files[:1], strings.Repeat("1", 16)
	part := h.store(c, r)
	if entries, err := os.ReadDir(part); err != nil || len(entries) != 1 || whole == part {
		t.Errorf("%s has %v, %v", part, entries, err)
	}
	if h.requests.Load() != 3 {
		t.Errorf("%d requests", h.requests.Load())
	}
	if items, err := Views(c.Own).Items(t.Context(), &cachegc.References{}); err != nil || len(items) != 2 {
		t.Errorf("%+v, %v", items, err)
	}
	if _, err := c.Remove(t.Context(), "org/tiny", r.Commit); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{whole, part} {
		if _, err := os.Lstat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there", gone)
		}
	}
}
