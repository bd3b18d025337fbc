// Package python_test runs the tests of the Python package against the real program.
package python_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

var program, cache string

func TestMain(m *testing.M) { testkit.Main(m, install) }

// install puts the program and what belongs to it into a folder.
func install(dir string) error {
	cache = filepath.Join(dir, "cache")
	if bin := os.Getenv("SEER_TEST_BIN"); bin != "" {
		program = filepath.Join(bin, "seer")
	} else {
		program = filepath.Join(dir, "bin", "seer")
		built, err := testbuild.Build(filepath.Join(dir, "bin"))
		if err == nil {
			err = built.Seer(program)
		}
		if err != nil {
			return err
		}
	}
	_, err := testbuild.Warm(cache)
	return err
}

// TestPython runs each file of tests with a home of its own.
func TestPython(t *testing.T) {
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".py"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			python, env := interpreter(t)
			cmd := exec.CommandContext(ctx, python, "-B", "-W", "error", "-m", "unittest", "discover", "-s", "tests", "-p", filepath.Base(file))
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// interpreter is a Python, and the environment in which it has the package and a home of its own.
func interpreter(t *testing.T) (string, []string) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "py") // short, for the paths of sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return cmp.Or(os.Getenv("SEER_PYTHON"), "/usr/bin/python3"), append(os.Environ(), "SEER_PROGRAM="+program, "HOME="+home, "XDG_CACHE_HOME="+cache,
		"XDG_STATE_HOME="+filepath.Join(home, "ständig"), "XDG_RUNTIME_DIR="+filepath.Join(home, "r"), "PYTHONPATH="+here, "TMPDIR="+home,
		"NO_COLOR=1", "SEER_TEST_JUPYTER="+testbuild.Jupyter(t))
}
