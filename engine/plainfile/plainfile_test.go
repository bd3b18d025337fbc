package plainfile_test

import (
	"os"
	"testing"

	"github.com/seer-engine/seer/engine/plainfile"
)

// Package os exports no error for this: the test finds a Go that says it in other words.
func TestEscapes(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.Open("../x"); !plainfile.Escapes(err) {
		t.Errorf("a name outside: %v", err)
	}
	if _, err := root.Open("x"); plainfile.Escapes(err) {
		t.Errorf("a name that is not there: %v", err)
	}
}
