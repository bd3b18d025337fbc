package state_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/state"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiskUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "12345")
	closed := filepath.Dir(write(t, filepath.Join(dir, "closed", "b"), "123"))
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	if bytes, err := state.DiskUse(t.Context(), dir); err != nil || bytes != 5 && bytes != 8 { // root may read all
		t.Errorf("%d, %v", bytes, err)
	}
	if bytes, err := state.DiskUse(t.Context(), filepath.Join(dir, "gone")); err != nil || bytes != 0 {
		t.Errorf("what is gone: %d, %v", bytes, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := state.DiskUse(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRemoveAllOfReadOnlyFolders(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.Chmod(filepath.Dir(write(t, filepath.Join(dir, "closed", "b"), "1")), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := state.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}
