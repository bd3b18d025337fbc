package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bare is an engine with folders of its own and nothing in them, and its cache.
func bare(t *testing.T) (*Engine, string) {
	t.Helper()
	cache := t.TempDir()
	e, err := New(Options{StateDir: t.TempDir(), CacheDir: cache, RuntimeDir: filepath.Join(t.TempDir(), "run"), DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e, cache
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
	e, cache := bare(t)
	note := old(t, cache, layersDir, strings.Repeat("a", 64), layerFile, `{"bytes":10}`)
	old(t, cache, systemsDir, "no folder")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := e.Prune(ended, PruneOptions{}); !errors.Is(err, context.Canceled) || len(done) != 0 {
		t.Errorf("cancelled: %+v, %v", done, err)
	}
	done, err := e.Prune(t.Context(), PruneOptions{})
	if err == nil || !strings.Contains(err.Error(), systemsDir) || len(done) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Lstat(note); !os.IsNotExist(err) {
		t.Errorf("the layer: %v", err)
	}
}

// A saved system that an experiment names is in use, and goes with its note last.
func TestASystemThatIsNamedStays(t *testing.T) {
	t.Parallel()
	e, cache := bare(t)
	used, unused := localSaved+strings.Repeat("a", 64), localSaved+strings.Repeat("b", 64)
	kept := old(t, cache, systemsDir, "one.json", `{"snapshot":"`+used+`"}`)
	gone := old(t, cache, systemsDir, "two.json", `{"snapshot":"`+unused+`"}`)
	if err := e.systemUsed(used); err != nil {
		t.Fatal(err)
	}
	done, err := e.Prune(t.Context(), PruneOptions{})
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

// What belongs to one sandbox is not saved: not the door of VS Code either, which has the
// secret path of its address.
func TestRenewedIsNotSaved(t *testing.T) {
	t.Parallel()
	below := strings.Join(renewedBelow("~/"), " ")
	if !strings.Contains(below, ".seer/code-server") || strings.Contains(below, "~") || len(renewedBelow("/workspace")) != 0 {
		t.Error(below)
	}
}
