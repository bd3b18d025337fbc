package record

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCreateReplacesNothingButRecords(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, bodiesName, "data.csv")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("1,2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err := Create(dir); err == nil {
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
		w, err := Create(dir)
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
