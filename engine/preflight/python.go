package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"

	_ "embed"

	"github.com/seer-engine/seer/engine/preflight/pyreq"
	"github.com/seer-engine/seer/sdk"
)

// Python is an interpreter and what is installed for it.
type Python struct {
	Path          string            `json:"path"`
	Markers       map[string]string `json:"markers"`       // python_version, sys_platform, … as in PEP 508
	Distributions map[string]string `json:"distributions"` // normalised name → version
	NoPip         bool              `json:"no_pip"`        // nothing can be installed for it
	Folders       []string          `json:"folders"`       // where its packages are
}

// Is reports whether the interpreter is of a version, as python_version has it.
func (p *Python) Is(version string) bool {
	return sameVersion(version, p.Markers["python_full_version"])
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

// packages finds what the interpreter of this computer lacks, where a machine would
// use it: that is installed once, into a layer.
func (c *check) packages() {
	here := slices.ContainsFunc(c.candidates, func(p *candidate) bool { return p.thisComputer() && !p.Has(sdk.FeatureBuild) })
	for i, text := range c.exp.Sandbox.PythonPackages {
		req, err := pyreq.Parse(text)
		if err != nil {
			c.fail(fmt.Sprintf("sandbox.python_packages.%d", i), fmt.Sprintf("`%s` is not a package as pip writes them: %v", text, err), "write for example numpy>=1.24")
			continue
		}
		if here && c.has(req) {
			c.report.Present = append(c.report.Present, text)
		} else {
			c.report.Missing = append(c.report.Missing, text)
		}
	}
	if len(c.report.Missing) == 0 || !here || c.ownImage() {
		return
	}
	if p := c.facts.Python; p == nil {
		c.fail("sandbox.python_packages", "there is no Python interpreter to install packages for", "install Python 3.8 or later, or name one with SEER_PYTHON")
	} else if p.NoPip {
		c.fail("sandbox.python_packages", fmt.Sprintf("%s has neither pip nor ensurepip, so nothing can be installed for it", p.Path),
			"install them (on Debian: apt-get install python3-pip), or name another interpreter with SEER_PYTHON")
	}
}

// has reports whether the interpreter of this computer satisfies a requirement. What
// only pip can tell, as with extras and URLs, it does not.
func (c *check) has(req pyreq.Requirement) bool {
	p := c.facts.Python
	if p == nil || c.ownImage() {
		return false
	}
	if wanted, err := req.Applies(p.Markers); err == nil && !wanted {
		return true
	}
	have, ok := p.Distributions[req.Name]
	if !ok || req.URL != "" || len(req.Extras) > 0 {
		return false
	}
	met, err := req.Specifiers.Contains(have)
	return err == nil && met
}

// ownImage reports whether the machine's Python is not that of this computer.
func (c *check) ownImage() bool {
	image := c.exp.Sandbox.Image
	return image != nil && (image.Base != "" || image.Snapshot != "")
}
