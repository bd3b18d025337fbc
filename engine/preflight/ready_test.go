package preflight_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// What a provider's own check has found stops a start, all of it at once; with another provider
// that can make the machine, it is left out.
func TestReady(t *testing.T) {
	t.Parallel()
	slurm := sdk.ProviderInfo{Name: "slurm", Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureCheck}}
	modal := sdk.ProviderInfo{Name: "modal", Features: []sdk.Feature{sdk.FeatureSelfEnd}}
	broken := []sdk.Finding{
		{Name: "login", State: sdk.FindingOK, Detail: "works"},
		{Name: "partition gpu", State: sdk.FindingFailed, Detail: "there is none", Fix: "name another"},
		{Name: "time limit", State: sdk.FindingFailed, Detail: "1h", Fix: "lower it"},
		{Name: "disk", State: sdk.FindingWarning, Detail: "nearly full", Fix: "free space"},
		{Name: "compute node", State: sdk.FindingUnknown, Fix: "look"},
	}
	facts := func(findings []sdk.Finding, err error) *lab {
		l := newLab(t)
		l.facts.Providers = append(l.facts.Providers, slurm, modal)
		l.facts.Checks = map[string]preflight.Checked{"slurm": {Findings: findings, Err: err}}
		return l
	}
	texts := func(r preflight.Report, s preflight.Severity) string {
		var all []string
		for _, f := range r.Findings {
			if f.Severity == s {
				all = append(all, f.Message+" | "+f.Hint)
			}
		}
		return strings.Join(all, "\n")
	}
	run := func(providers string, l *lab) preflight.Report {
		return l.check("sandbox: {provider: " + providers + "}\n")
	}
	r := run("slurm", facts(broken, nil))
	if got, want := texts(r, preflight.SeverityError), "provider `slurm`: partition gpu: there is none | name another\nprovider `slurm`: time limit: 1h | lower it"; got != want {
		t.Errorf("errors:\n%s", got)
	}
	if got := texts(r, preflight.SeverityWarning); got != "provider `slurm`: disk: nearly full | free space" {
		t.Errorf("warnings:\n%s", got)
	}
	r = run("[slurm, modal]", facts(broken, nil))
	if r.Err() != nil || len(r.Choices) != 1 || r.Choices[0].Provider.Name != "modal" || len(r.Skipped) != 2 || !strings.Contains(texts(r, preflight.SeverityWarning), "it is left out") {
		t.Errorf("%+v, %v", r, r.Err())
	}
	r = run("slurm", facts(nil, sdk.Errorf(sdk.Unavailable, "gone")))
	if r.Err() != nil || !strings.Contains(texts(r, preflight.SeverityWarning), "could not look at what its machines need: gone") {
		t.Errorf("%+v", r.Findings)
	}
	f := facts(broken, nil)
	f.facts.OfferErrors = map[string]error{"slurm": sdk.Errorf(sdk.Unavailable, "gone")}
	if err := run("slurm", f).Err(); sdk.CodeOf(err) != sdk.Unavailable || strings.Contains(err.Error(), "cannot be asked for its offers") {
		t.Errorf("%v", err)
	}
}
