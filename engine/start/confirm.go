package start

import (
	"context"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/trust"
)

// confirm asks for everything at once, before anything is rented, built or started.
func (p *preparation) confirm(ctx context.Context) error {
	if p.exp.File == "" { // built in code: the program's own
		for _, ref := range p.plan.BaseImages() {
			p.Logins.Confirm(ref)
		}
		return nil
	}
	env, err := p.facts().Env(p.exp)
	if err != nil {
		return errdefs.Wrap(errdefs.KindConfig, err)
	}
	facts, err := p.Guard.Facts(ctx, p.exp, p.plan, env, p.opts.Agent)
	if err != nil {
		return err
	}
	if err := p.startsFromSnapshot(ctx, &facts); err != nil {
		return err
	}
	for _, a := range facts.Accounts {
		if len(a.Machines) > 0 {
			continue // nobody pays
		}
		p.report.Send(event.PreflightAccount{Provider: a.Provider, Credentials: a.Credentials})
	}
	if err := p.Guard.Confirm(ctx, trust.Of(facts)); err != nil {
		return err
	}
	for _, i := range facts.Images {
		p.Logins.Confirm(i.Ref)
	}
	if !p.opts.Agent || p.exp.Agent == nil || p.plan.Agent == nil {
		return nil
	}
	return p.Guard.RememberRun(ctx, p.exp, p.plan.Agent.Isolation)
}

func (p *preparation) startsFromSnapshot(ctx context.Context, facts *trust.Facts) error {
	saved, err := p.snapshot(ctx)
	if saved != nil {
		facts.Snapshot = p.Guard.SnapshotFact(ctx, *saved)
	}
	return err
}
