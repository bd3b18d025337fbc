package callcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
)

// TestFolderOfResult: a folder that is not there is another mistake than one that is none.
func TestFolderOfResult(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		out  string
		kind engine.Kind
		text string
	}{
		{filepath.Join(dir, "none", "a.npy"), engine.KindNotFound, "there is no folder for the file"},
		{filepath.Join(file, "a.npy"), engine.KindConfig, file + " is not a folder"},
		{filepath.Join(file, "below", "a.npy"), engine.KindConfig, "not a directory"},
	} {
		_, err := newPrinter(app{}, showFlags{out: tc.out}, nil)
		if err == nil || cli.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.out) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v (%s)", tc.out, err, cli.KindOf(err))
		}
	}
}
