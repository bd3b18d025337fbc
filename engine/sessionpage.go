package engine

import (
	"slices"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/preflight"
)

// withoutPage spares a Python of this computer that has a Jupyter server already what
// only browsers need: agents get on without it, and nothing has to be installed. Who
// wants the page names jupyterlab in python_packages.
func withoutPage(exp *experiment.Experiment, report *preflight.Report) {
	needed := notebook.Requirements(false)
	page := notebook.Requirements(true)[len(needed):]
	all := exp.Sandbox.PythonPackages
	asked := all[:len(all)-exp.Sandbox.Implied]
	forMore := func(text string) bool { return !slices.Contains(page, text) || slices.Contains(asked, text) }
	absent := func(need string) bool { return !slices.ContainsFunc(report.Present, sameAs(need)) }
	if exp.Sandbox.ExecutionMode != experiment.ModeNotebook || len(report.Missing) == 0 ||
		slices.ContainsFunc(report.Missing, forMore) || slices.ContainsFunc(needed, absent) {
		return
	}
	report.Findings = append(report.Findings, preflight.Finding{Severity: preflight.SeverityWarning, Error: *exp.Errorf("sandbox.execution_mode",
		"the Jupyter of this computer's Python has no JupyterLab with a shared document, so browsers have no page for the notebooks; agents need none",
		"add jupyterlab to sandbox.python_packages to have it")})
	report.Present, report.Missing = append(report.Present, report.Missing...), nil
}

// sameAs reports whether a requirement is of the same package.
func sameAs(need string) func(string) bool {
	return func(asked string) bool { return requirementName(asked) == requirementName(need) }
}
