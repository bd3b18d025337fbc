package python_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// storms are the Python tests that take minutes: every fault and every attack of their kind.
var storms = []string{"tests/test_client_faults.py", "tests/test_hostile.py"}

// The Python tests drive real worker processes and client.py, each file in a process
// of its own.
func TestPython(t *testing.T) {
	t.Parallel() // or it would hold up the other parallel tests
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	runPython(t, slices.DeleteFunc(files, func(file string) bool { return slices.Contains(storms, file) }))
}

func TestPythonStorms(t *testing.T) {
	t.Parallel()
	runPython(t, storms)
}

func runPython(t *testing.T, files []string) {
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".py"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, interpreter(), "-B", "-m", "unittest", "discover", "-s", "tests", "-p", filepath.Base(file))
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			cmd.WaitDelay = 5 * time.Second
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", cmd, err, out)
			}
		})
	}
}

func TestWriteMakesAProgramThatStarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "worker")
	main, err := python.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Without its descriptors it gets no further than the first of them.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `exec "$0" "$@" 3>&- 4>&- 5>&- 6>&- 7>&-`, interpreter(), "-I", "-B", main)
	out, err := cmd.CombinedOutput()
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

// What has been compiled in advance is what Python would have compiled: it is used,
// and its tracebacks name the files as they lie there.
func TestCompile(t *testing.T) {
	data, err := python.Compile(t.Context(), interpreter())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := python.Write(dir); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, python.CompiledName())
	if err := os.WriteFile(archive, data, 0o600); err != nil {
		t.Fatal(err)
	}
	const use = `import sys, zipfile
zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
from importlib.machinery import SourceFileLoader
SourceFileLoader.source_to_code = None  # nothing is to be compiled
import seer_worker.main, seer_worker.values
print(seer_worker.values.encode.__code__.co_filename)`
	out, err := exec.CommandContext(t.Context(), interpreter(), "-I", "-c", use, archive, dir).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), filepath.Join(dir, "seer_worker")) {
		t.Errorf("%v: %s", err, out)
	}
}

// The notebook service, too; but sources that have changed since are compiled.
func TestCompileNotebook(t *testing.T) {
	data, err := python.CompileNotebook(t.Context(), interpreter())
	if err != nil {
		t.Fatal(err)
	}
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, from := range []fs.FS{python.Notebook, files} {
		if err := os.CopyFS(dir, from); err != nil {
			t.Fatal(err)
		}
	}
	const use = `import os, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from importlib.machinery import SourceFileLoader
compiled, before = [], SourceFileLoader.source_to_code
SourceFileLoader.source_to_code = lambda self, data, path: compiled.append(os.path.basename(path)) or before(self, data, path)
from seer_notebook import settings
from seer_notebook.server import supervisor
print(compiled, supervisor.main.__code__.co_filename == supervisor.__file__, getattr(settings, "CHANGED", 0))`
	for _, want := range []string{"[] True 0\n", "['settings.py'] True 7\n"} {
		out, err := exec.CommandContext(t.Context(), interpreter(), "-I", "-c", use, dir).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%v: %s, want %s", err, out, want)
		}
		changed, err := os.OpenFile(filepath.Join(dir, "seer_notebook", "settings.py"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = changed.WriteString("\nCHANGED = 7\n")
		if err := errors.Join(err, changed.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
