package protocol

import (
	"os"
	"path/filepath"
	"testing"
)

// SizeOf is what is uploaded: files of a folder, and of a link what it leads to.
func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 3, "b/c": 4} {
		file := filepath.Join(dir, "tree é", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("tree é", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "tree é", "out")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{"tree é": 7, "link": 7, "tree é/a": 3, "nothing": 0} {
		if got := SizeOf(t.Context(), filepath.Join(dir, path)); got != want {
			t.Errorf("%s: %d bytes, not %d", path, got, want)
		}
	}
}
