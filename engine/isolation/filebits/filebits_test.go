package filebits

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestStrip(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	for _, path := range []string{"plain", "suid", "deep/er/sgid"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(outside, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	chmod := func(path string, mode fs.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(outside, 0o755|fs.ModeSetuid)
	chmod(filepath.Join(dir, "suid"), 0o755|fs.ModeSetuid)
	chmod(filepath.Join(dir, "deep/er/sgid"), 0o711|fs.ModeSetgid)
	chmod(filepath.Join(dir, "deep"), 0o755|fs.ModeSetgid)
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := Strip(dir)
	if err != nil || !slices.Equal(got, []string{"deep", "deep/er/sgid", "suid"}) {
		t.Errorf("%q, %v", got, err)
	}
	for path, want := range map[string]fs.FileMode{"suid": 0o755, "deep/er/sgid": 0o711, "plain": 0o755} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if info, err := os.Stat(outside); err != nil || info.Mode()&fs.ModeSetuid == 0 {
		t.Errorf("it followed a link: %v, %v", info.Mode(), err)
	}
	if got, err := Strip(dir); err != nil || got != nil {
		t.Errorf("again: %q, %v", got, err)
	}
}

// TestSharedFolder: the setgid bit of a folder that a group shares only names the group
// of new files.
func TestSharedFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o775|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o775); err != nil {
		t.Fatal(err)
	}
	if got, err := Strip(dir); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}
