package hubcache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

const commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// two has two revisions that share the weights.
func two(t *testing.T) Cache {
	t.Helper()
	c := newCache(t)
	weights := contents["model.safetensors"]
	lay(t, c, "models--org--tiny", commitB, map[string][]byte{"config.json": []byte("old"), "model.safetensors": weights})
	if err := os.Rename(filepath.Join(c.Dir, "models--org--tiny", "refs", "main"), filepath.Join(c.Dir, "models--org--tiny", "refs", "v1")); err != nil {
		t.Fatal(err)
	}
	lay(t, c, "models--org--tiny", commitA, map[string][]byte{"config.json": []byte("new"), "model.safetensors": weights})
	return c
}

func TestList(t *testing.T) {
	c := two(t)
	repo := filepath.Join(c.Dir, "models--org--tiny")
	write(t, filepath.Join(repo, "blobs", "abc.seer.incomplete"), []byte("half"))
	lay(t, c, "datasets--org--data", commitA, map[string][]byte{"a/b.txt": []byte("1234")})
	for _, other := range []string{".locks/x", "blobs/.huggingface-shared-blobs", "CACHEDIR.TAG", "models--org/x"} {
		write(t, filepath.Join(c.Dir, other), nil)
	}
	all, err := c.List(t.Context())
	if err != nil || len(all) != 3 || all[0].Name != "datasets/org/data" || all[2].Name != "org/tiny" {
		t.Fatalf("%+v, %v", all, err)
	}
	r := all[2]
	if r.Bytes != 1<<20+6 || len(r.Revisions) != 2 || len(r.Incomplete) != 1 || r.Used.IsZero() {
		t.Errorf("%+v", r)
	}
	if a := r.Revisions[0]; a.Commit != commitA || a.Files != 2 || a.Bytes != 1<<20+3 || strings.Join(a.Refs, " ") != "main" || len(a.Broken) > 0 {
		t.Errorf("%+v", a)
	}
	if none, err := (Cache{Dir: filepath.Join(c.Dir, "none")}).List(t.Context()); err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
}

func TestVerify(t *testing.T) {
	c := two(t)
	blobs := filepath.Join(c.Dir, "models--org--tiny", "blobs")
	found, err := c.Verify(t.Context(), "org/tiny", nil)
	if err != nil || found.Blobs != 3 || found.Bytes != 1<<20+6 || len(found.Wrong)+len(found.Broken)+len(found.Unknown) > 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	wrong := filepath.Join(blobs, blobName(fileOf("config.json", []byte("old"))))
	write(t, wrong, []byte("odd"))
	if err := os.Remove(filepath.Join(blobs, fileOf("model.safetensors", contents["model.safetensors"]).SHA256)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(blobs, "etag-of-a-mirror"), nil)
	found, err = c.Verify(t.Context(), "org/tiny", nil)
	if err != nil || strings.Join(found.Wrong, " ") != wrong || len(found.Broken) != 2 || len(found.Unknown) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := c.Verify(t.Context(), "org/none", nil); sdk.CodeOf(err) != sdk.NotFound {
		t.Error(err)
	}
	c.Dir = wrong // no folder
	if _, err := c.Verify(t.Context(), "org/tiny", nil); sdk.CodeOf(err) == sdk.NotFound || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("of a cache that cannot be read: %v", err)
	}
}

func TestRemove(t *testing.T) {
	h, c := newHub(t), two(t)
	h.files = map[string][]byte{"config.json": []byte("new"), "model.safetensors": contents["model.safetensors"]}
	view := h.store(c, h.request())
	repo := filepath.Join(c.Dir, "models--org--tiny")
	write(t, filepath.Join(repo, ".no_exist", commitA, "x.json"), nil)
	if _, err := c.Remove(t.Context(), "org/tiny", strings.Repeat("c", 40)); sdk.CodeOf(err) != sdk.NotFound {
		t.Error(err)
	}
	freed, err := c.Remove(t.Context(), "org/tiny", commitA)
	if err != nil || freed == 0 || freed > 1<<20 {
		t.Errorf("freed %d, %v", freed, err)
	}
	for _, gone := range []string{view, filepath.Join(repo, "refs", "main"), filepath.Join(repo, "trees", commitA+".json"), filepath.Join(repo, ".no_exist", commitA)} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
	found, err := c.Verify(t.Context(), "org/tiny", nil)
	if err != nil || found.Blobs != 2 || len(found.Broken) > 0 {
		t.Errorf("the other revision has lost something: %+v, %v", found, err)
	}
	if freed, err = c.Remove(t.Context(), "org/tiny", ""); err != nil || freed < 1<<20 {
		t.Errorf("freed %d, %v", freed, err)
	}
	if all, err := c.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// Nothing is removed of a repository to which another program downloads: what that has found or
// brought belongs to no snapshot yet.
func TestRemoveBesideADownload(t *testing.T) {
	h, c := newHub(t), newCache(t)
	lay(t, c, "models--org--tiny", commitB, map[string][]byte{"config.json": contents["config.json"], "model.safetensors": []byte("of another commit")})
	arrived, hold := make(chan struct{}), make(chan struct{})
	arrive := sync.OnceFunc(func() { close(arrived) })
	h.setBefore(func(path string) {
		if path == "model.safetensors" {
			arrive()
			<-hold
		}
	})
	stored := make(chan error, 1)
	go func() {
		_, err := c.Store(t.Context(), h.request())
		stored <- err
	}()
	<-arrived
	for _, revision := range []string{commitB, ""} {
		if _, err := c.Remove(t.Context(), "org/tiny", revision); sdk.CodeOf(err) != sdk.Unavailable {
			t.Errorf("%q beside a download: %v", revision, err)
		}
	}
	close(hold)
	if err := <-stored; err != nil {
		t.Errorf("the download: %v", err)
	}
	if _, err := c.Remove(t.Context(), "org/tiny", ""); err != nil {
		t.Errorf("after the download: %v", err)
	}
}
