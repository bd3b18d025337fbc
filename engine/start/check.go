package start

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/modelinfo"
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
	// MaxWait is how long to wait while no machine that fits is free; 0 = not at all.
	MaxWait time.Duration
	// NoAgent leaves out what only the agent of the experiment needs, such as its program and keys.
	NoAgent bool
	// Context and Batch say for how many tokens of how many sequences at once a plan computes the
	// memory of models; 0 = [modelinfo.Tokens] and [modelinfo.Batch].
	Context, Batch int64
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
func (s *Starter) Check(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (preflight.Report, error) {
	report, err := s.check(ctx, exp, o)
	if err != nil || report.Err() != nil {
		return report, err
	}
	return report, s.checkHiddenNames(ctx, withMode(exp), &report)
}

// check is [Starter.Check] without what [Starter.Start] looks for later, when it has the models.
func (s *Starter) check(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (preflight.Report, error) {
	exp = withMode(exp)
	s.Plugins.SawExperiment(exp.File)
	c := s.facts()
	found, err := c.Collect(ctx, exp, o.Offline, !o.NoAgent)
	if err != nil {
		return preflight.Report{}, errdefs.Wrap(errdefs.KindConfig, err)
	}
	found.Unguarded, found.Waits = o.Unguarded, o.MaxWait > 0
	report, err := preflight.Check(ctx, exp, found)
	if err == nil && len(exp.Mistakes()) == 0 {
		jupyterNeeds().AllowNoPage(exp, &report)
		c.CheckSyntax(ctx, exp, found, &report)
		c.CheckDebug(exp, &report)
	}
	return report, errdefs.Wrap(errdefs.KindInternal, err)
}

// Plan says what the experiment will make, where and at what cost, and with which effects
// beyond its folder and its confinement. It makes
// nothing. An experiment that cannot work is an [experiment.Errors].
func (s *Starter) Plan(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (plan.Plan, error) {
	if o.Context < 0 || o.Batch < 0 {
		return plan.Plan{}, errdefs.Wrap(errdefs.KindConfig, fmt.Errorf("plan for a context of %d tokens and a batch of %d: both must be positive; leave them out for %d and %d",
			o.Context, o.Batch, modelinfo.Tokens, modelinfo.Batch))
	}
	exp = withMode(exp)
	report, err := s.Check(ctx, exp, o)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Make(exp, report)
	if err != nil {
		return p, errdefs.Wrap(errdefs.KindConfig, err)
	}
	s.planGPUs(ctx, &p)
	models := s.models(event.Reporter{})
	models.Suggest = true
	if o.Offline {
		models.Offline = "the plan is made offline"
		p.NotChecked = notChecked(exp, p)
	}
	if err := models.Describe(ctx, exp, &p, modelinfo.Options{Context: o.Context, Batch: o.Batch}); err != nil {
		return p, errdefs.Wrap(errdefs.KindConfig, err)
	}
	env, err := s.facts().Env(exp)
	if err != nil {
		return p, errdefs.Wrap(errdefs.KindConfig, err)
	}
	set, err := s.Builder.Settings(env, exp)
	if err == nil {
		_, err = s.Builder.Plan(&p, build.Request{Experiment: exp, Settings: set})
	}
	if err != nil || exp.File == "" {
		return p, errdefs.Wrap(errdefs.KindConfig, err)
	}
	facts, err := s.Guard.Facts(ctx, exp, p, env, true)
	if err != nil {
		return p, errdefs.Wrap(errdefs.KindConfig, err)
	}
	effects := trust.Of(facts)
	p.Accounts, p.Effects = facts.Accounts, &effects
	return p, nil
}

// notChecked is what only others can tell, where nobody is asked.
func notChecked(exp *experiment.Experiment, p plan.Plan) (all []string) {
	for _, c := range p.Choices {
		if what := "price and stock of " + c.Provider; !c.HostMounts && !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	for _, m := range exp.Sandbox.Fetched() {
		if m.Source != experiment.SourceFolder {
			all = append(all, "access to "+m.Name+", and its newest commit")
		}
	}
	for _, r := range p.Repos {
		all = append(all, "commit of "+r.URL)
	}
	return all
}

// Agents are what the agent of an experiment is settled from.
func (s *Starter) Agents(exp *experiment.Experiment) (agent.Sources, error) {
	c := s.facts()
	env, err := c.Env(exp)
	return c.Agents(env), err
}

// facts gathers what preflight judges.
func (s *Starter) facts() *facts.Collector {
	return &facts.Collector{
		Plugins: s.Plugins, Python: s.Python, Paths: s.Paths, Store: s.Store, LookupEnv: s.LookupEnv, Logger: s.Logger,
		Offers: s.Offers, Ready: s.Ready(), Local: s.Local,
		GitEnv: func(env *preflight.Env, exp *experiment.Experiment) (map[string]string, error) {
			set, err := s.Builder.Settings(env, exp)
			return set.Here, err
		},
		Confirm: func(ctx context.Context, exp *experiment.Experiment, secrets []trust.Secret) error {
			f := s.Guard.Subject(exp)
			f.Secrets = secrets
			return s.Guard.Confirm(ctx, trust.Of(f))
		},
	}
}
