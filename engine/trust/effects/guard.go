package effects

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/trust"
)

// Guard lets nothing happen that the user has not confirmed.
type Guard struct {
	Finder
	Store func() (trust.Store, error) // the user's confirmations and the user's key
	Ask   trust.Asker                 // nil = nobody can be asked: what is not confirmed is refused

	// Undefended is for the controls of tests with attackers: nothing needs a confirmation or a
	// signature.
	Undefended bool
}

// Confirm returns nil if an experiment may have these effects: none of them is outside of
// its folder and its confinement, the user has confirmed them before, or does so now.
// Otherwise it is a [trust.Error].
func (g *Guard) Confirm(ctx context.Context, effects trust.Effects) error {
	if len(effects.Outside) == 0 || g.Undefended {
		return nil
	}
	store, err := g.Store()
	if err != nil {
		return errdefs.Wrap(errdefs.KindInternal, err)
	}
	known, err := store.Confirmed(effects)
	if known || err != nil {
		return errdefs.Wrap(errdefs.KindInternal, err)
	}
	answer := trust.No
	if g.Ask != nil {
		if answer, err = g.Ask(ctx, effects); err != nil {
			return errdefs.Wrap(errdefs.KindUntrusted, err)
		}
	}
	switch answer {
	case trust.Always:
		return errdefs.Wrap(errdefs.KindInternal, store.Confirm(effects))
	case trust.Once:
		return nil
	}
	return &errdefs.Error{Kind: errdefs.KindUntrusted, Err: trust.Refusal(effects)}
}

// agentIn returns the effects of an agent and the store of what the user has confirmed.
func (g *Guard) agentIn(ctx context.Context, exp *experiment.Experiment, kind string) (trust.Effects, trust.Store, error) {
	effects, err := g.Agent(ctx, exp, kind)
	if err != nil {
		return effects, trust.Store{}, err
	}
	store, err := g.Store()
	return effects, store, errdefs.Wrap(errdefs.KindInternal, err)
}

// RememberRun remembers what the agent of an experiment does in the isolation of that kind,
// so that a replay of its record needs no confirmation.
func (g *Guard) RememberRun(ctx context.Context, exp *experiment.Experiment, kind string) error {
	effects, store, err := g.agentIn(ctx, exp, kind)
	if err != nil {
		return err
	}
	return errdefs.Wrap(errdefs.KindInternal, store.Run(effects))
}

// ConfirmReplay is [Guard.Confirm] for the agent of an experiment alone, in the isolation
// of that kind. What has run before needs no confirmation.
func (g *Guard) ConfirmReplay(ctx context.Context, exp *experiment.Experiment, kind string) error {
	if exp.File == "" {
		return nil
	}
	effects, store, err := g.agentIn(ctx, exp, kind)
	if err != nil {
		return err
	}
	if known, err := store.HasRun(effects); known || err != nil {
		return errdefs.Wrap(errdefs.KindInternal, err)
	}
	return g.Confirm(ctx, effects)
}

// OwnRecord reports whether a run of this user has written the log of this SHA-256, in
// hexadecimal digits; of an earlier version, the run.json.
func (g *Guard) OwnRecord(digest string) (bool, error) {
	store, err := g.Store()
	if err != nil {
		return false, errdefs.Wrap(errdefs.KindInternal, err)
	}
	own, err := store.OwnRecord(digest)
	return own, errdefs.Wrap(errdefs.KindInternal, err)
}

// RememberRecord has [Guard.OwnRecord] know a log.
func (g *Guard) RememberRecord(digest, path string) error {
	store, err := g.Store()
	if err == nil {
		err = store.Record(digest, path)
	}
	if err != nil {
		return errdefs.Wrap(errdefs.KindInternal, fmt.Errorf("remember the record of the run: %w", err))
	}
	return nil
}
