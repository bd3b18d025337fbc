// Package examples_test runs the tests of the examples that are written in Python.
package examples_test

import (
	"cmp"
	"os"
	"os/exec"
	"testing"
)

func TestPython(t *testing.T) {
	for name, modules := range map[string][]string{"induction-heads": {"test_model"}, "agents": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unittest(t, name, modules...)
		})
	}
}

// TestTraining trains a model for most of a minute.
func TestTraining(t *testing.T) { unittest(t, "induction-heads", "test_training") }

// unittest runs the tests of some modules in a folder, or of all.
func unittest(t *testing.T, dir string, modules ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("SEER_PYTHON"), "/usr/bin/python3"), append([]string{"-B", "-m", "unittest"}, modules...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
