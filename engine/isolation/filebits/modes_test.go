package filebits

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestModes(t *testing.T) {
	mask := unix.Umask(0o022)
	defer unix.Umask(mask)
	if got, err := umask(); err != nil || got != 0o022 {
		t.Fatalf("%o, %v", got, err)
	}
	dir := t.TempDir()
	put := func(name string, mode fs.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	put("plain", 0o644)
	put("private", 0o600)
	put("shared", 0o666)
	put(".git/config", 0o644)
	m, err := Remember(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "private", "shared", ".git/config", "new/private", "new/tool", "tmp/f"} {
		put(name, 0o666)
	}
	put("new/tool", 0o755)
	for _, name := range []string{"", ".git", "tmp"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o777|fs.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{".", ".git", ".git/config", "new/private", "plain", "private", "tmp", "tmp/f"}
	if got, err := m.Restore(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for name, want := range map[string]fs.FileMode{
		"": 0o755, ".git": 0o755, ".git/config": 0o644, "new/private": 0o644, "new/tool": 0o755,
		"plain": 0o644, "private": 0o600, "shared": 0o666, "tmp": 0o755,
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if got, err := m.Restore(); err != nil || len(got) != 0 {
		t.Errorf("again: %q, %v", got, err)
	}
}

// TestModesOfSharedFolder: what is new in a folder that a group may write in is the group's.
func TestModesOfSharedFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	m, err := Remember(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Restore(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o664 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
