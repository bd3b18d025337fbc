package python_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/internal/testbuild"
)

// The tests of the notebook service drive a real Jupyter server and real kernels, one
// file after the other, beside those of TestPython: each of them has some of both.
func TestNotebook(t *testing.T) {
	t.Parallel()
	interpreter := testbuild.Jupyter(t)
	files, err := filepath.Glob("tests/notebook/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".py"), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, interpreter, "-B", "-m", "unittest", "discover", "-s", "tests/notebook", "-p", filepath.Base(file))
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "HOME="+t.TempDir())
			cmd.WaitDelay = 5 * time.Second
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", cmd, err, out)
			}
		})
	}
}

func TestNotebookHoldsThePackageAndNothingElse(t *testing.T) {
	files := 0
	err := fs.WalkDir(python.Notebook, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if files++; !strings.HasPrefix(name, "seer_notebook/") || filepath.Ext(name) != ".py" {
			t.Errorf("%s is embedded", name)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}
