package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCreateReplacesNothingButRecords(t *testing.T) {
	parent := rootOf(t, t.TempDir())
	dir := filepath.Join(parent.Name(), Name)
	mine := filepath.Join(dir, bodiesName, "data.csv")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("1,2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err := Create(parent, Name); err == nil {
		w.Close()
		t.Error("a folder of somebody else was replaced")
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "1,2" {
		t.Fatalf("%s %v", data, err)
	}
	if err := os.RemoveAll(mine); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		w, err := Create(parent, Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.text([]int{1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// TestLinksInsideARecord: links and second names in a stranger's record are replaced, and
// what they lead to stays.
func TestLinksInsideARecord(t *testing.T) {
	users := t.TempDir()
	key := filepath.Join(users, "key")
	parent := rootOf(t, filepath.Dir(users))
	dir := filepath.Join(parent.Name(), Name)
	err := errors.Join(os.WriteFile(key, []byte("private"), 0o600), os.MkdirAll(dir, 0o755),
		os.Link(key, filepath.Join(dir, CallsName)), os.Symlink(users, filepath.Join(dir, bodiesName)), os.Symlink("..", filepath.Join(dir, ServicesName)))
	if err != nil {
		t.Fatal(err)
	}
	w, err := Create(parent, Name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.text([]int{1}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(w.add(Entry{}), w.Close()); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(key); string(data) != "private" {
		t.Errorf("the user's file has %q: %v", data, err)
	}
	if found, err := os.ReadDir(users); len(found) != 1 {
		t.Errorf("the user's folder has %v: %v", found, err)
	}
}
