package osfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestSpace(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if total, free, err := Space(f); !errors.Is(err, errors.ErrUnsupported) && (err != nil || total == 0 || free > total) {
		t.Errorf("%d %d %v", total, free, err)
	}
}
