package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/state"
)

// newBuilder is a builder with folders of its own and nothing in them, and its cache.
func newBuilder(t *testing.T) (*Builder, string) {
	t.Helper()
	cache := t.TempDir()
	store, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: cache, RuntimeDir: filepath.Join(t.TempDir(), "run")})
	if err != nil {
		t.Fatal(err)
	}
	return &Builder{Store: store, Now: time.Now, Getenv: func(string) string { return "" }}, cache
}

// prune removes what is old of a builder's to which nobody refers.
func prune(ctx context.Context, b *Builder) ([]cachegc.Removed, error) {
	c := &cachegc.Collector{Store: b.Store, Now: b.Now, Logger: hclog.NewNullLogger(), Sources: b.Sources(), Partials: []cachegc.Partials{b.Partials()},
		References: func(context.Context) (*cachegc.References, error) { return &cachegc.References{}, nil }}
	return c.Prune(ctx, cachegc.Options{})
}

// old writes a file that nobody has used for 90 days.
func old(t *testing.T, elem ...string) string {
	t.Helper()
	text := elem[len(elem)-1]
	path := filepath.Join(elem[:len(elem)-1]...)
	when := time.Now().Add(-90 * 24 * time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, when, when)); err != nil {
		t.Fatal(err)
	}
	return path
}

// What cannot be read of one kind keeps nothing of the others.
func TestPruneGoesOn(t *testing.T) {
	t.Parallel()
	b, cache := newBuilder(t)
	note := old(t, cache, layersDir, strings.Repeat("a", 64), manifestFile, `{"bytes":10}`)
	old(t, cache, rootFSDir, "no folder")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := prune(ended, b); !errors.Is(err, context.Canceled) || len(done) != 0 {
		t.Errorf("cancelled: %+v, %v", done, err)
	}
	done, err := prune(t.Context(), b)
	if err == nil || !strings.Contains(err.Error(), rootFSDir) || len(done) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Lstat(note); !os.IsNotExist(err) {
		t.Errorf("the layer: %v", err)
	}
}

// A saved system that an experiment names is in use, and goes with its note last.
func TestASystemThatIsNamedStays(t *testing.T) {
	t.Parallel()
	b, cache := newBuilder(t)
	used, unused := savedPrefix+strings.Repeat("a", 64), savedPrefix+strings.Repeat("b", 64)
	kept := old(t, cache, rootFSDir, "one.json", `{"snapshot":"`+used+`"}`)
	gone := old(t, cache, rootFSDir, "two.json", `{"snapshot":"`+unused+`"}`)
	if err := b.rootFSUsed(used); err != nil {
		t.Fatal(err)
	}
	done, err := prune(t.Context(), b)
	if err != nil || len(done) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(gone); !os.IsNotExist(err) { // also without the tar file, which an earlier removal has taken
		t.Error(err)
	}
}

// A saved system that a start notes while others are pruned keeps its files until the last note goes.
func TestASystemThatIsNotedMeanwhileStays(t *testing.T) {
	t.Parallel()
	b, cache := newBuilder(t)
	id := strings.Repeat("a", 64)
	tar := old(t, b.Store.StateDir(), "local", "saved", id+".tar", "files")
	text := `{"snapshot":"` + savedPrefix + id + `"}`
	removeFirst := func() {
		t.Helper()
		items, err := b.rootFSItems(t.Context(), &cachegc.References{})
		if err != nil || len(items) != 1 {
			t.Fatalf("%+v, %v", items, err)
		}
		old(t, cache, rootFSDir, "two.json", text)
		if err := items[0].Remove(); err != nil {
			t.Fatal(err)
		}
	}
	first := old(t, cache, rootFSDir, "one.json", text)
	removeFirst()
	if _, err := os.Lstat(first); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := os.Lstat(tar); err != nil {
		t.Error(err)
	}
	removeFirst() // of the second note, which is the last one
	if _, err := os.Lstat(tar); !os.IsNotExist(err) {
		t.Error(err)
	}
}
