package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	_ "embed"

	"github.com/seer-engine/seer/engine/preflight/pyreq"
	"github.com/seer-engine/seer/sdk"
)

// Python is an interpreter and what is installed for it.
type Python struct {
	Path          string            `json:"path"`
	Markers       map[string]string `json:"markers"`       // python_version, sys_platform, … as in PEP 508
	Distributions map[string]string `json:"distributions"` // normalised name → version
	Managed       bool              `json:"managed"`       // by the system's packages: pip installs nothing into it
}

// install says how to get a requirement.
func (p *Python) install(text string) string {
	text = "'" + strings.ReplaceAll(text, "'", `"`) + "'"
	if p.Managed {
		return "install it into a virtual environment: " + p.Path + " -m venv --system-site-packages ~/seer-python && ~/seer-python/bin/pip install " + text +
			", and name that one: export SEER_PYTHON=~/seer-python/bin/python3"
	}
	return "install it into the interpreter: " + p.Path + " -m pip install " + text + ", or name another with SEER_PYTHON"
}

//go:embed probe.py
var probe string

// ProbePython asks an interpreter what it is and what it has. It runs isolated
// from the user's environment, as the workers do.
func ProbePython(ctx context.Context, path string) (*Python, error) {
	out, err := exec.CommandContext(ctx, path, "-I", "-c", probe).Output()
	if err != nil {
		return nil, fmt.Errorf("the Python interpreter %s does not start: %w; install Python 3.8 or later, or name another", path, err)
	}
	p := &Python{Path: path}
	if err := json.Unmarshal(out, p); err != nil {
		return nil, fmt.Errorf("the Python interpreter %s gave no answer that can be read: %w", path, err)
	}
	return p, nil
}

// packages checks that the interpreter of this computer has what is asked for,
// where a machine would use it. Elsewhere packages are installed.
func (c *check) packages() {
	here := func(p *candidate) bool { return p.thisComputer() && !p.Has(sdk.FeatureBuild) }
	if !slices.ContainsFunc(c.candidates, here) {
		return
	}
	for i, text := range c.exp.Sandbox.PythonPackages {
		if problem, hint := c.missing(text); problem != "" {
			c.fail(fmt.Sprintf("sandbox.python_packages.%d", i), problem, hint)
		}
	}
}

// missing says why a requirement is not met; empty when it is.
func (c *check) missing(text string) (problem, hint string) {
	req, err := pyreq.Parse(text)
	if err != nil {
		return fmt.Sprintf("`%s` is not a package as pip writes them: %v", text, err), "write for example numpy>=1.24"
	}
	p := c.facts.Python
	if p == nil {
		return fmt.Sprintf("`%s` cannot be checked: no Python interpreter was found", req.Name), "install Python 3.8 or later"
	}
	switch wanted, err := req.Applies(p.Markers); {
	case err != nil:
		return fmt.Sprintf("the marker of `%s` cannot be evaluated: %v", text, err), ""
	case !wanted:
		return "", ""
	}
	have, ok := p.Distributions[req.Name]
	switch {
	case req.URL != "":
		return fmt.Sprintf("installing `%s` from a URL is not supported by this version", req.Name), "install it into the interpreter and list its name alone"
	case len(req.Extras) > 0:
		return fmt.Sprintf("extras as in `%s[%s]` are not supported by this version", req.Name, strings.Join(req.Extras, ",")), "list the packages that the extra stands for"
	case !ok:
		return fmt.Sprintf("%s does not have `%s`, and installing it is not supported by this version", p.Path, req.Name), p.install(text)
	}
	if met, err := req.Specifiers.Contains(have); err != nil || !met {
		return fmt.Sprintf("%s has `%s` %s, not %s, and installing it is not supported by this version", p.Path, req.Name, have, req.Specifiers), p.install(text)
	}
	return "", ""
}
