package start

import (
	"context"
	"slices"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
)

// hideNames keeps the names of hidden models from the agent, before anything is rented.
func (p *preparation) hideNames(ctx context.Context) error {
	if p.hidden = blinding.Names(p.models); !p.hides() {
		return nil
	}
	given := blinding.Given{
		Experiment: p.exp, Models: p.models, Prompt: session.Prompt(p.exp, p.contents), Name: p.opts.Name, Workspace: p.contents,
		Unsearched: p.Unsearched,
	}
	return given.Hide(ctx, p.hidden, p.Copies, p.report)
}

// hides reports whether a model's name is hidden from the agent.
func (p *preparation) hides() bool { return len(p.hidden.Spec().Names) > 0 }

// checkHiddenNames finds the names of hidden models in what the experiment gives to its
// agent.
func (s *Starter) checkHiddenNames(ctx context.Context, exp *experiment.Experiment, report *preflight.Report) error {
	if !slices.ContainsFunc(exp.Sandbox.Weights(), func(m experiment.Model) bool { return m.Hidden }) {
		return nil
	}
	contents, err := session.Contents(exp)
	if err != nil {
		return err
	}
	given := blinding.Given{Experiment: exp, Prompt: session.Prompt(exp, contents), Workspace: contents, Unsearched: s.Unsearched}
	return given.Check(ctx, report)
}

// scan looks for the names of hidden models wherever an agent in the sandbox could. It is
// an error of [KindConfig] when one is found.
func (p *preparation) scan(ctx context.Context, m provision.Machine) error {
	if p.hidden.Empty() || p.Unsearched || !p.exp.Sandbox.Whole() {
		return nil
	}
	scan := blinding.ScanOf(p.exp, p.plan, m.Choice, p.models, p.hidden, p.report)
	s := session.Session{ID: m.Record.ID, Ledger: p.Ledger, Client: m.Client}
	return scan.Search(ctx, blinding.Sandbox{Exec: s.Exec, Python: s.Python(p.exp.Sandbox.ExecutionMode)})
}
