package preflight

import (
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight/pyreq"
)

// Jupyter are the requirements of execution_mode: notebook.
type Jupyter struct {
	Server []string // what agents need
	Page   []string // what browsers need besides
}

// Require is the experiment with the packages that its execution mode needs, where it does
// not ask for them itself. An image that a provider has saved has them.
func (j Jupyter) Require(exp *experiment.Experiment) *experiment.Experiment {
	if exp.Sandbox.ExecutionMode != experiment.ModeNotebook || exp.Sandbox.Image != nil && exp.Sandbox.Image.Snapshot != "" {
		return exp
	}
	with := *exp
	with.Sandbox.PythonPackages = slices.Clone(exp.Sandbox.PythonPackages)
	for _, need := range slices.Concat(j.Server, j.Page) {
		if !slices.ContainsFunc(exp.Sandbox.PythonPackages, SamePackage(need)) {
			with.Sandbox.PythonPackages = append(with.Sandbox.PythonPackages, need)
			with.Sandbox.Implied++
		}
	}
	return &with
}

// AllowNoPage spares a Python of this computer that has a Jupyter server already what
// only browsers need: agents get on without it, and nothing has to be installed. Who
// wants the page names jupyterlab in python_packages.
func (j Jupyter) AllowNoPage(exp *experiment.Experiment, report *Report) {
	all := exp.Sandbox.PythonPackages
	asked := all[:len(all)-exp.Sandbox.Implied]
	forMore := func(text string) bool { return !slices.Contains(j.Page, text) || slices.Contains(asked, text) }
	absent := func(need string) bool { return !slices.ContainsFunc(report.Present, SamePackage(need)) }
	if exp.Sandbox.ExecutionMode != experiment.ModeNotebook || len(report.Missing) == 0 ||
		slices.ContainsFunc(report.Missing, forMore) || slices.ContainsFunc(j.Server, absent) {
		return
	}
	report.Findings = append(report.Findings, Finding{Severity: SeverityWarning, Error: *exp.Errorf("sandbox.execution_mode",
		"the Jupyter of this computer's Python lacks a JupyterLab with shared documents, so you cannot open the notebooks in a browser; agents do not need it",
		"add jupyterlab to sandbox.python_packages to have it")})
	report.Present, report.Missing = append(report.Present, report.Missing...), nil
}

// SamePackage reports whether a requirement is of the same package.
func SamePackage(need string) func(string) bool {
	return func(asked string) bool { return requirementName(asked) == requirementName(need) }
}

// requirementName is the name in a requirement, as the index compares names. Unlike
// [pyreq.Parse] it needs no requirement that is valid.
func requirementName(requirement string) string {
	name := strings.ToLower(requirement)
	if i := strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}); i >= 0 {
		name = name[:i]
	}
	return pyreq.Normalize(name)
}
