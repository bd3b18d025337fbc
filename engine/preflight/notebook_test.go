package preflight

import (
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

// TestAllowNoPage leaves out what only browsers need, but never what was asked for, also
// where that is written as Seer writes it.
func TestAllowNoPage(t *testing.T) {
	t.Parallel()
	jupyter := Jupyter{Server: []string{"jupyter_server>=2.14,<3", "ipykernel>=6.29,<8"}, Page: []string{"jupyterlab>=4.2,<5", "jupyter-collaboration>=4,<6"}}
	page := jupyter.Page
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
		with := jupyter.Require(jupyter.Require(exp)) // as a plan does
		if n := len(with.Sandbox.PythonPackages) - with.Sandbox.Implied; n != len(c.asked) || len(exp.Sandbox.PythonPackages) != len(c.asked) {
			t.Errorf("%s: %d of %q were asked for", name, n, with.Sandbox.PythonPackages)
		}
		var report Report
		for _, text := range with.Sandbox.PythonPackages {
			if slices.Contains(jupyter.Server, text) {
				report.Present = append(report.Present, text)
			} else {
				report.Missing = append(report.Missing, text)
			}
		}
		jupyter.AllowNoPage(with, &report)
		if !slices.Equal(report.Missing, c.left) {
			t.Errorf("%s: missing is %q", name, report.Missing)
		}
	}
}
