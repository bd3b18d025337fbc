package engine

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// trusted is where the user's confirmations and the user's key are.
func (e *Engine) trusted() (trust.Store, error) {
	dir, err := e.store.Dir("trust")
	if err != nil {
		return trust.Store{}, err
	}
	return trust.Store{Dir: dir, Now: e.now}, nil
}

// Confirm returns nil if an experiment may have these effects: none of them is outside of
// its folder and its confinement, the user has confirmed them before, or
// [Options].Trust does so now. Otherwise it is a [trust.Error], of [KindUntrusted].
func (e *Engine) Confirm(ctx context.Context, effects trust.Effects) error {
	if len(effects.Outside) == 0 || e.unguarded {
		return nil
	}
	store, err := e.trusted()
	if err != nil {
		return as(KindInternal, err)
	}
	known, err := store.Confirmed(effects)
	if known || err != nil {
		return as(KindInternal, err)
	}
	answer := trust.No
	if e.opts.Trust != nil {
		if answer, err = e.opts.Trust(ctx, effects); err != nil {
			return as(KindUntrusted, err)
		}
	}
	switch answer {
	case trust.Always:
		return as(KindInternal, store.Confirm(effects))
	case trust.Once:
		return nil
	}
	return &Error{Kind: KindUntrusted, Err: trust.Refusal(effects)}
}

// confirm asks for everything at once, before anything is rented, built or started.
func (u *up) confirm(ctx context.Context) error {
	if u.exp.File == "" { // built in code: the program's own
		for _, ref := range imagesHere(u.plan) {
			u.engine.logins.confirm(ref)
		}
		return nil
	}
	env, err := u.engine.facts().Env(u.exp)
	if err != nil {
		return as(KindConfig, err)
	}
	facts, err := u.engine.effects(ctx, u.exp, u.plan, env, u.opts.Agent)
	if err != nil {
		return err
	}
	if err := u.startsFromSnapshot(ctx, &facts); err != nil {
		return err
	}
	for _, a := range facts.Accounts {
		u.report.Info(StagePreflight, "account: %s", a.Text())
	}
	if err := u.engine.Confirm(ctx, trust.Of(facts)); err != nil {
		return err
	}
	for _, i := range facts.Images {
		u.engine.logins.confirm(i.Ref)
	}
	if !u.opts.Agent {
		return nil
	}
	return u.engine.ran(ctx, u.exp, u.plan)
}

func (u *up) startsFromSnapshot(ctx context.Context, facts *trust.Facts) error {
	saved, err := u.snapshot(ctx)
	if saved != nil {
		facts.Snapshot = u.engine.snapshotFact(ctx, *saved)
	}
	return err
}

// ran remembers what the agent of an experiment does, so that a replay of its record
// needs no confirmation.
func (e *Engine) ran(ctx context.Context, exp *experiment.Experiment, p plan.Plan) error {
	if exp.Agent == nil || p.Agent == nil {
		return nil
	}
	effects, err := e.agentEffects(ctx, exp, p.Agent.Isolation)
	if err != nil {
		return err
	}
	store, err := e.trusted()
	if err != nil {
		return as(KindInternal, err)
	}
	return as(KindInternal, store.Run(effects))
}

// agentEffects are those of the agent alone, as a replay runs it.
func (e *Engine) agentEffects(ctx context.Context, exp *experiment.Experiment, kind string) (trust.Effects, error) {
	f := e.subject(exp)
	f.Read = workspaceFiles(exp)
	f.Written = real(exp.Workspace.Dir)
	err := e.agentProgram(ctx, &f, exp, kind)
	return trust.Of(f), err
}

// ConfirmReplay is [Engine.Confirm] for the agent of an experiment alone, in the isolation
// of that kind. What has run before needs no confirmation.
func (e *Engine) ConfirmReplay(ctx context.Context, exp *experiment.Experiment, kind string) error {
	if exp.File == "" {
		return nil
	}
	effects, err := e.agentEffects(ctx, exp, kind)
	if err != nil {
		return err
	}
	store, err := e.trusted()
	if err != nil {
		return as(KindInternal, err)
	}
	if known, err := store.HasRun(effects); known || err != nil {
		return as(KindInternal, err)
	}
	return e.Confirm(ctx, effects)
}

// OwnRecord reports whether a run of this user has written the run.json file of this
// SHA-256, in hexadecimal digits.
func (e *Engine) OwnRecord(digest string) (bool, error) {
	store, err := e.trusted()
	if err != nil {
		return false, as(KindInternal, err)
	}
	own, err := store.OwnRecord(digest)
	return own, as(KindInternal, err)
}

// RememberRecord has [Engine.OwnRecord] know a run.json file.
func (e *Engine) RememberRecord(digest, path string) error {
	store, err := e.trusted()
	if err == nil {
		err = store.Record(digest, path)
	}
	if err != nil {
		return as(KindInternal, fmt.Errorf("remember the record of the run: %w", err))
	}
	return nil
}

// confirmProcesses asks before the processes that another signer has saved are shown
// folders of this computer.
func (u *up) confirmProcesses(ctx context.Context, saved snapshot.Snapshot, spec sdk.MachineSpec) error {
	signer, err := u.engine.signerOf(ctx, saved)
	if signer == trust.OwnKey || u.engine.unguarded {
		return nil
	}
	if err != nil {
		return &Error{Kind: KindUntrusted, Err: err}
	}
	facts := trust.Facts{Subject: "the snapshot " + saved.Name + ", " + saved.ID, Snapshot: &trust.Snapshot{Name: saved.Name, ID: saved.ID, Signer: signer}}
	for _, m := range spec.Mounts {
		if facts.Read = append(facts.Read, real(m.Source)...); m.Writable {
			facts.Written = append(facts.Written, real(m.Source)...)
		}
	}
	return u.engine.Confirm(ctx, trust.Of(facts))
}
