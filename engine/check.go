package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/preflight/facts"
	"github.com/seer-engine/seer/engine/trust"
)

// CheckOptions say what is allowed.
type CheckOptions struct {
	// Unguarded allows a provider that cannot end its machines by itself: one whose
	// engine was killed runs, and costs, until somebody ends it.
	Unguarded bool
	// Offline asks nobody over a network: no provider for prices and stock, no repository
	// for its commits. What they would say is not in the report.
	Offline bool
}

// jupyterNeeds are the packages that execution_mode: notebook needs.
func jupyterNeeds() preflight.Jupyter {
	server := notebook.Requirements(false)
	return preflight.Jupyter{Server: server, Page: notebook.Requirements(true)[len(server):]}
}

// withMode is the experiment with the packages that its execution mode needs.
func withMode(exp *experiment.Experiment) *experiment.Experiment { return jupyterNeeds().Require(exp) }

// Check finds everything that would stop the experiment, before anything is
// rented. What it finds is in the report; see [preflight.Report.Err].
func (e *Engine) Check(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (preflight.Report, error) {
	report, err := e.check(ctx, exp, o)
	if err != nil || report.Err() != nil {
		return report, err
	}
	return report, e.checkHiddenNames(ctx, withMode(exp), &report)
}

// check is [Engine.Check] without what [Engine.Up] looks for later, when it has the models.
func (e *Engine) check(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (preflight.Report, error) {
	exp = withMode(exp)
	e.plugins.SawExperiment(exp.File)
	c := e.facts()
	found, err := c.Collect(ctx, exp, o.Offline)
	if err != nil {
		return preflight.Report{}, as(KindConfig, err)
	}
	found.Unguarded = o.Unguarded
	report, err := preflight.Check(ctx, exp, found)
	if err == nil && len(exp.Mistakes()) == 0 {
		jupyterNeeds().AllowNoPage(exp, &report)
		c.CheckSyntax(ctx, exp, found, &report)
		c.CheckDebug(exp, &report)
	}
	return report, as(KindInternal, err)
}

// Plan says what the experiment will make, where and at what cost, and with which effects
// beyond its folder and its confinement. It makes
// nothing. An experiment that cannot work is an [experiment.Errors].
func (e *Engine) Plan(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (plan.Plan, error) {
	exp = withMode(exp)
	report, err := e.Check(ctx, exp, o)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Make(exp, report)
	if err != nil {
		return p, as(KindConfig, err)
	}
	env, err := e.facts().Env(exp)
	if err != nil {
		return p, as(KindConfig, err)
	}
	set, err := e.builder.Settings(env, exp)
	if err == nil {
		_, err = e.builder.Plan(&p, build.Request{Experiment: exp, Settings: set})
	}
	if err != nil || exp.File == "" {
		return p, as(KindConfig, err)
	}
	facts, err := e.guard.Facts(ctx, exp, p, env, true)
	if err != nil {
		return p, as(KindConfig, err)
	}
	effects := trust.Of(facts)
	p.Accounts, p.Effects = facts.Accounts, &effects
	return p, nil
}

// facts gathers what preflight judges.
func (e *Engine) facts() *facts.Collector {
	return &facts.Collector{
		Plugins: e.plugins, Python: e.python, Paths: e.paths, Store: e.store, LookupEnv: e.opts.LookupEnv, Logger: e.log,
		Offers: e.driver.Offers, Local: e.local,
		GitEnv: func(env *preflight.Env, exp *experiment.Experiment) (map[string]string, error) {
			set, err := e.builder.Settings(env, exp)
			return set.Here, err
		},
		Confirm: func(ctx context.Context, exp *experiment.Experiment, secrets []trust.Secret) error {
			f := e.guard.Subject(exp)
			f.Secrets = secrets
			return e.guard.Confirm(ctx, trust.Of(f))
		},
	}
}
