package doctor

import (
	"context"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/readiness"
	"github.com/seer-engine/seer/sdk"
)

// Query asks for the findings of a provider.
type Query struct {
	Provider string
	// Experiment has the options and what its machine needs; nil = what most machines need.
	Experiment *experiment.Experiment
	// OnNode allows something short that runs where machines run, such as a job in a queue.
	OnNode bool
}

// CheckProvider has a provider look anew at what its machines need.
func (d *Doctor) CheckProvider(ctx context.Context, q Query) []Finding {
	ask := readiness.Usual(d.Getenv)
	if q.Experiment != nil {
		ask = readiness.Query(q.Experiment, q.Provider, d.Getenv)
	}
	ask.OnNode = q.OnNode
	found, err := d.Ready().Look(ctx, q.Provider, ask)
	switch {
	case sdk.CodeOf(err) == sdk.Unsupported:
		return []Finding{{Name: q.Provider, Optional: true, State: sdk.FindingUnknown, Detail: err.Error(), Fix: "ask it for offers, which says whether it can be reached"}}
	case err != nil:
		return []Finding{{Name: q.Provider, State: sdk.FindingFailed, Detail: "could not look: " + err.Error()}}
	}
	var findings []Finding
	for _, f := range found {
		findings = append(findings, Finding{
			Name: f.Name, OK: f.State == sdk.FindingOK, Optional: f.State == sdk.FindingWarning || f.State == sdk.FindingUnknown,
			Detail: f.Detail, Fix: f.Fix, State: f.State,
		})
	}
	return findings
}
