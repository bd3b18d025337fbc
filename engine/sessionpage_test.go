package engine

import (
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/preflight"
)

// TestWithoutPage leaves out what only browsers need, but never what was asked for, also
// where that is written as Seer writes it.
func TestWithoutPage(t *testing.T) {
	t.Parallel()
	needed := len(notebook.Requirements(false))
	page := notebook.Requirements(true)[needed:]
	for name, c := range map[string]struct {
		asked []string
		left  []string // that is still missing
	}{
		"nobody asked":               {nil, nil},
		"it was asked for":           {page[:1], page},
		"in other words":             {[]string{"jupyterlab"}, []string{"jupyterlab", page[1]}},
		"something else was missing": {[]string{"numpy==0"}, append([]string{"numpy==0"}, page...)},
	} {
		exp := &experiment.Experiment{}
		exp.Sandbox.ExecutionMode, exp.Sandbox.PythonPackages = experiment.ModeNotebook, c.asked
		with := withMode(withMode(exp)) // as a plan does
		if n := len(with.Sandbox.PythonPackages) - with.Sandbox.Implied; n != len(c.asked) || len(exp.Sandbox.PythonPackages) != len(c.asked) {
			t.Errorf("%s: %d of %q were asked for", name, n, with.Sandbox.PythonPackages)
		}
		var report preflight.Report
		for _, text := range with.Sandbox.PythonPackages {
			if slices.Contains(notebook.Requirements(false), text) {
				report.Present = append(report.Present, text)
			} else {
				report.Missing = append(report.Missing, text)
			}
		}
		withoutPage(with, &report)
		if !slices.Equal(report.Missing, c.left) {
			t.Errorf("%s: missing is %q", name, report.Missing)
		}
	}
}
