package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkTokenFile writes a file twice and reads it.
func checkTokenFile[T interface {
	comparable
	Write(path string) error
}](t *testing.T, want T, read func(path string) (T, error)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.json")
	for range 2 {
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := read(path)
	if err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

// checkTokenFileErrors checks that files with these texts are refused, and one that is not
// there.
func checkTokenFileErrors[T any](t *testing.T, read func(path string) (T, error), mistakes map[string]string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for name, text := range mistakes {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
