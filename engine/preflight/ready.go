package preflight

import (
	"fmt"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// ready judges what providers have found that have looked at what their machines need. One that
// cannot make the machine is left out while another can; else everything that it lacks is said.
func (c machineCheck) ready() {
	var fit []*candidate
	for _, p := range c.candidates {
		if len(c.lacks(p)) == 0 {
			fit = append(fit, p)
		}
	}
	for _, p := range c.candidates {
		c.judge(p, len(fit) > 0)
	}
	for _, p := range c.candidates {
		for _, f := range c.lacks(p) {
			c.report.Skipped = append(c.report.Skipped, Skip{Provider: p.Name, Reason: sentence(f)})
		}
	}
	c.candidates = fit
}

// lacks are the findings with which a provider cannot make the machine.
func (c machineCheck) lacks(p *candidate) []sdk.Finding {
	return slices.DeleteFunc(slices.Clone(c.facts.Checks[p.Name].Findings), func(f sdk.Finding) bool { return f.State != sdk.FindingFailed })
}

// judge reports what one provider has found; with another that fits, nothing stops the start.
func (c machineCheck) judge(p *candidate, fits bool) {
	checked := c.facts.Checks[p.Name]
	offers := c.facts.OfferErrors[p.Name]
	if checked.Err != nil && offers == nil { // an error of offers says the same
		c.warn(p.at, fmt.Sprintf("provider `%s` could not look at what its machines need: %v", p.Name, checked.Err), "")
	}
	for _, f := range checked.Findings {
		message := fmt.Sprintf("provider `%s`: %s", p.Name, sentence(f))
		switch {
		case f.State == sdk.FindingFailed && fits:
			c.warn(p.at, message+"; it is left out", f.Fix)
		case f.State == sdk.FindingFailed:
			c.fail(p.at, message, f.Fix)
			if last := &c.report.Findings[len(c.report.Findings)-1]; offers != nil {
				last.Error = *last.Error.Because(offers) // whoever decides by its code finds it
			}
		case f.State == sdk.FindingWarning:
			c.warn(p.at, message, f.Fix)
		}
	}
}

func sentence(f sdk.Finding) string {
	if f.Detail == "" {
		return f.Name
	}
	return f.Name + ": " + f.Detail
}
