// Package preflight finds, before anything is rented, everything that would
// stop an experiment: missing files, secrets and packages, unknown plugins,
// isolation that does not work here. It only reads.
package preflight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/spelling"
	"github.com/seer-engine/seer/sdk"
)

// Facts is what is known about the outside. The façade gathers it; a test
// makes it up.
type Facts struct {
	Env             *Env               // where secrets are looked for
	Providers       []sdk.ProviderInfo // built in and from plugins
	Policy          policy.Policy      // of the administrator of this computer
	GPUProviders    []string           // who may rent a GPU that this computer lacks, where no provider is named; one is right, several leave the choice to the user
	Sources         []string           // model sources: folder, hub, …
	ExposeModes     []string           // library, mcp, prompt, …
	PluginDirs      []string           // where plugins were looked for, for messages
	AgentIsolations []sdk.Isolation    // of this computer, best first
	Root            bool               // who runs commands here is root
	AgentPath       string             // PATH of the agent; empty = unknown
	AgentSees       []string           // folders of this computer that a confined agent has; empty = unknown
	AgentProblems   []AgentProblem     // why the agent cannot start
	Python          *Python            // base interpreter of a machine that cannot build images; nil = unknown
	Pythons         []Python           // other interpreters of this computer, only their paths and versions; empty = not looked for
	Repos           []RepoState        // of sandbox.repos, one each; empty = not asked
	PortFree        func(port int) error
	ProxyOnly       string                 // what a sandbox of this computer has whose open network nothing connects; empty = that works, or was not tried
	Saved           func(ref string) error // finds a system that was saved on this computer; nil = not looked for

	// Offers are those of each provider of [Candidates], of all GPUs that the experiment
	// names or, where it names none, without one. A provider that is neither here nor
	// in OfferErrors was not asked: it is taken at its word, at an unknown price.
	Offers      map[string][]sdk.Offer
	OfferErrors map[string]error
	Checks      map[string]Checked // what providers with [sdk.FeatureCheck] have found; the others were not asked
	Offline     bool               // no provider was to be asked: prices are not known yet

	// Unguarded allows providers that cannot end their machines by themselves.
	Unguarded bool
	// Waits says that a machine that is not free now will be waited for.
	Waits bool
}

// Checked is what a provider has found that looked at what its machines need.
type Checked struct {
	Findings []sdk.Finding
	Err      error // it could not look
}

// AgentProblem is why an agent cannot start.
type AgentProblem struct{ Path, Message, Hint string }

// Candidates are the providers that an experiment may be run on; see [Candidates].
func (f Facts) Candidates(exp *experiment.Experiment) []string {
	return Candidates(exp, f.Providers, f.GPUProviders)
}

// Severity tells what must be mended from what should be known.
type Severity string

// The severities of a [Finding].
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Finding is one thing found.
type Finding struct {
	Severity Severity `json:"severity"`
	experiment.Error
}

// Report is the outcome of a check: what was found, and what was chosen where
// the experiment leaves a choice.
type Report struct {
	Findings       []Finding         `json:"findings"`
	Choices        []Choice          `json:"choices"`                   // in the order in which they are tried
	Skipped        []Skip            `json:"skipped,omitempty"`         // what is no choice, and why
	Provider       sdk.ProviderInfo  `json:"provider"`                  // of the first choice
	GPU            string            `json:"gpu,omitempty"`             // of the first choice
	Isolation      string            `json:"isolation,omitempty"`       // of the sandbox, first choice; empty where the provider has only one
	AgentIsolation string            `json:"agent_isolation,omitempty"` // of the agent's process; empty without an agent
	Secrets        map[string]string `json:"secrets,omitempty"`         // name → where it was found; never the value
	Repos          []Repo            `json:"repos,omitempty"`           // what is cloned
	Present        []string          `json:"present,omitempty"`         // of python_packages: what the interpreter of this computer has
	Missing        []string          `json:"missing,omitempty"`         // and what it lacks, so that it is installed
	Python         string            `json:"python,omitempty"`          // interpreter of this computer that python_version chose; empty = the usual one
}

// Choice is a machine that would do.
type Choice struct {
	Provider  sdk.ProviderInfo `json:"provider"`
	Offer     sdk.Offer        `json:"offer"`         // its ID is empty where the provider has made none
	GPU       string           `json:"gpu,omitempty"` // canonical name; as the user wrote it without an offer
	GPUCount  int              `json:"gpu_count,omitempty"`
	Isolation string           `json:"isolation,omitempty"`
}

// CostPerHour is its price in USD, where it is known. This computer costs nothing, and neither
// do the user's own machines elsewhere.
func (c Choice) CostPerHour() (usd float64, known bool) {
	return c.Offer.CostPerHour, c.Offer.CostPerHour > 0 || c.Provider.Has(sdk.FeatureHostMounts) || c.Provider.Has(sdk.FeatureFree)
}

// Skip is a machine, or a GPU at a provider, that is no choice.
type Skip struct {
	Provider string    `json:"provider"`
	GPU      string    `json:"gpu,omitempty"` // as the user wrote it
	Offer    sdk.Offer `json:"offer,omitzero"`
	Reason   string    `json:"reason"`
}

// Err is every finding that stops the experiment, as [experiment.Errors]; nil
// when there is none.
func (r Report) Err() error {
	var errs experiment.Errors
	for _, f := range r.Findings {
		if f.Severity == SeverityError {
			errs = append(errs, &f.Error)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}

// Warnings are the findings that do not stop it.
func (r Report) Warnings() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Severity == SeverityWarning {
			out = append(out, f)
		}
	}
	return out
}

// Check looks at everything the experiment needs. What it finds is in the
// report, all at once; the error says only that it could not look. Of an experiment that
// has mistakes already, only what does not depend on other fields is looked at.
func Check(ctx context.Context, exp *experiment.Experiment, facts Facts) (Report, error) {
	c := &check{exp: exp, facts: facts}
	m := machineCheck{c}
	steps := []func(){m.gpus, m.providers, m.isolation, m.abilities, m.ready, m.choose, c.files, c.fetched, c.interfaces, c.clashes, c.secrets, c.python, c.packages, c.loaders, c.repos, m.ports, c.agent}
	mistakes := exp.Mistakes()
	if len(mistakes) > 0 {
		steps = []func(){m.gpus, m.namedProviders, c.files, c.fetched, c.interfaces, c.secrets, c.programs}
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		step()
	}
	for _, m := range mistakes {
		c.report.Findings = slices.DeleteFunc(c.report.Findings, func(f Finding) bool { return f.Path == m.Path })
	}
	for _, m := range mistakes {
		c.report.Findings = append(c.report.Findings, Finding{Severity: SeverityError, Error: *m})
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(len(a.Set), len(b.Set)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	return c.report, nil
}

// check is one run. Its own methods look at files, programs and code.
type check struct {
	exp    *experiment.Experiment
	facts  Facts
	report Report

	candidates []*candidate
	wants      []string // GPUs of the experiment that can be looked for; empty = a machine without
}

// machineCheck is the part of a run that finds a machine: GPUs, providers, what these are
// able to do, isolation and ports.
type machineCheck struct{ *check }

func (c *check) fail(path, message, hint string, remedies ...remedy.Remedy) {
	c.add(SeverityError, path, message, hint, remedies)
}

func (c *check) warn(path, message, hint string, remedies ...remedy.Remedy) {
	c.add(SeverityWarning, path, message, hint, remedies)
}

func (c *check) add(s Severity, path, message, hint string, remedies []remedy.Remedy) {
	if c.exp.Renumbered(path) {
		return
	}
	finding := c.exp.Errorf(path, message, hint)
	finding.Remedies = remedies
	c.report.Findings = append(c.report.Findings, Finding{Severity: s, Error: *finding})
}

// plugins says which values are known, which one word was meant to be, and where more would be found.
func (c *check) plugins(word string, known []string) string {
	hint := "known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
	if near := spelling.Nearest(word, known); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	if len(known) == 0 {
		hint = "none is known"
	}
	if len(c.facts.PluginDirs) > 0 {
		hint += "; plugins are looked for in " + strings.Join(c.facts.PluginDirs, ", ")
	}
	return hint
}
