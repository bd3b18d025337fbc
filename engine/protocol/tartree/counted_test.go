package tartree

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// Weigh tells how many files it has seen while it goes on.
func TestWeighTells(t *testing.T) {
	dir := t.TempDir()
	for i := range 2*progressEach + 1 {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte("ab"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var reported []int
	bytes := Weigh(t.Context(), dir, func(files int) { reported = append(reported, files) })
	if bytes != 2*(2*progressEach+1) || !slices.Equal(reported, []int{progressEach, 2 * progressEach}) {
		t.Errorf("%d bytes, reported %v", bytes, reported)
	}
}
