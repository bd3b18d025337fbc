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
)

func interpreter() string {
	if p := os.Getenv("SEER_PYTHON"); p != "" {
		return p
	}
	return "/usr/bin/python3"
}

// The Python tests drive real worker processes and client.py.
func TestPython(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter(), "-B", "-m", "unittest", "discover", "-s", "tests")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

func TestWriteMakesAProgramThatStarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "worker")
	main, err := python.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Without its descriptors it gets no further than the first of them.
	out, err := exec.CommandContext(t.Context(), interpreter(), "-I", "-B", main).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Bad file descriptor") {
		t.Fatalf("it said %q, %v", out, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the folder has the mode %v, %v", info.Mode(), err)
	}
}

func TestFilesHoldTheProgramAndNothingElse(t *testing.T) {
	err := fs.WalkDir(python.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if filepath.Ext(name) != ".py" || strings.HasPrefix(name, "tests") {
			t.Errorf("%s is embedded", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(python.Files, python.Main); err != nil {
		t.Fatal(err)
	}
}

func TestWriteSaysWhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := python.Write(filepath.Join(file, "worker")); err == nil || !strings.Contains(err.Error(), file) {
		t.Fatalf("%v", err)
	}
}
