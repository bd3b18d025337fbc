package engine

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/offers"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
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

// Check finds everything that would stop the experiment, before anything is
// rented. What it finds is in the report; see [preflight.Report.Err].
func (e *Engine) Check(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (preflight.Report, error) {
	report, err := e.check(ctx, exp, o)
	if err != nil || report.Err() != nil {
		return report, err
	}
	return report, e.tellsHidden(ctx, withMode(exp), &report)
}

// check is [Engine.Check] without what [Engine.Up] looks for later, when it has the models.
func (e *Engine) check(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (preflight.Report, error) {
	exp = withMode(exp)
	e.plugins.SawExperiment(exp.File)
	facts, err := e.facts(ctx, exp, o.Offline)
	if err != nil {
		return preflight.Report{}, as(KindConfig, err)
	}
	facts.Unguarded = o.Unguarded
	report, err := preflight.Check(ctx, exp, facts)
	if err == nil && len(exp.Mistakes()) == 0 {
		withoutPage(exp, &report)
		e.syntax(ctx, exp, facts, &report)
		e.debuggable(exp, &report)
	}
	return report, as(KindInternal, err)
}

// debuggable finds that VS Code is wanted and this computer, on which the sandbox may be,
// has none, or that the release for others is pinned to what is no SHA-256.
func (e *Engine) debuggable(exp *experiment.Experiment, report *preflight.Report) {
	here := func(c preflight.Choice) bool { return c.Provider.Has(sdk.FeatureHostMounts) }
	if !exp.Sandbox.Debug {
		return
	}
	err := codeserver.CheckPinned(e.getenv(codeserver.PinnedIn))
	if err == nil && slices.ContainsFunc(report.Choices, here) {
		var tools string
		if tools, err = e.paths.Tools(); err == nil {
			_, err = codeserver.Find(e.getenv, tools)
		}
	}
	if err != nil {
		report.Findings = append(report.Findings, preflight.Finding{Severity: preflight.SeverityError, Error: *exp.Errorf("sandbox.debug", err.Error(), "")})
	}
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
	env, err := e.env(exp)
	if err != nil {
		return p, as(KindConfig, err)
	}
	set, err := e.installerSettings(env, exp)
	if err == nil {
		_, err = e.planLayer(&p, set)
	}
	if err != nil || exp.File == "" {
		return p, as(KindConfig, err)
	}
	facts, err := e.effects(ctx, exp, p, env, true)
	if err != nil {
		return p, as(KindConfig, err)
	}
	effects := trust.Of(facts)
	p.Accounts, p.Effects = facts.Accounts, &effects
	return p, nil
}

func (e *Engine) env(exp *experiment.Experiment) (*preflight.Env, error) {
	dir := "."
	if exp.File != "" {
		dir = filepath.Dir(exp.File)
	}
	return preflight.ReadEnv(dir, e.opts.LookupEnv)
}

// facts gathers what preflight judges. Plugins are read, not run, except the
// providers that the experiment may be run on.
func (e *Engine) facts(ctx context.Context, exp *experiment.Experiment, offline bool) (preflight.Facts, error) {
	env, err := e.env(exp)
	if err != nil {
		return preflight.Facts{}, err
	}
	if err := e.plugins.Open(); err != nil { // such as a lock whose plugins are not there: no others in their place
		return preflight.Facts{}, as(KindPlugin, err)
	}
	plugins, broken := e.Plugins(ctx)
	for _, err := range broken {
		e.log.Warn("a plugin cannot be used", "error", err)
	}
	f := preflight.Facts{
		Env:         env,
		Sources:     e.plugins.Sources(plugins),
		ExposeModes: e.plugins.ExposeModes(plugins),
		PluginDirs:  e.PluginDirs(), PortFree: portFree,
		Root: os.Geteuid() == 0,
	}
	if !e.plugins.LocalReplaced() {
		f.Saved = e.saved
	}
	proxyOnly := e.proxyOnly(ctx, exp)
	f.Providers, err = e.describe(ctx, exp, append(e.plugins.Providers(plugins), localName))
	if err != nil {
		return f, err
	}
	if f.Offline = offline; !offline {
		e.offers(ctx, exp, &f)
	}
	f.ProxyOnly = <-proxyOnly
	if exp.Agent != nil {
		f.AgentIsolations = e.isolations(ctx, f.Providers)
		if python, err := e.python.Default(); err == nil {
			f.AgentPath, f.AgentSees = python.SearchPath(), append(isolation.Visible(), python.Paths...)
		}
	}
	if err := e.installed(ctx, exp, &f); err != nil || offline {
		return f, err
	}
	f.Repos, err = e.resolveRepos(ctx, exp, f.Env)
	return f, err
}

// proxyOnly finds out, beside other work, what a sandbox of this computer has whose open
// network nothing connects; see [preflight.Facts].
func (e *Engine) proxyOnly(ctx context.Context, exp *experiment.Experiment) <-chan string {
	found := make(chan string, 1)
	if p := exp.Sandbox.Providers; exp.Sandbox.Network != "open" || exp.Sandbox.Isolation == "none" || len(p) > 0 && !slices.Contains(p, localName) {
		found <- ""
		return found
	}
	go func() {
		if _, err := e.openNetwork(ctx); err != nil {
			found <- local.ProxyOnly(err)
			return
		}
		found <- ""
	}()
	return found
}

// openNetwork finds what connects the open network of a sandbox on this computer.
func (e *Engine) openNetwork(ctx context.Context) (string, error) {
	if e.plugins.LocalReplaced() {
		return "", nil
	}
	p, err := e.local()
	if err != nil {
		return "", err
	}
	if n, ok := p.(local.Network); ok {
		return n.OpenNetwork(ctx)
	}
	return "", nil
}

// isolations are those of this computer. The built-in provider, where it was
// asked, has just tried them.
func (e *Engine) isolations(ctx context.Context, asked []sdk.ProviderInfo) []sdk.Isolation {
	replaced := e.plugins.LocalReplaced()
	for _, p := range asked {
		if p.Name == localName && !replaced && len(p.Isolations) > 0 {
			return p.Isolations
		}
	}
	return isolation.Detect(ctx, e.paths.ToolPlaces()...)
}

// describe asks the providers that may be chosen; the others are only named.
func (e *Engine) describe(ctx context.Context, exp *experiment.Experiment, names []string) ([]sdk.ProviderInfo, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	infos := make([]sdk.ProviderInfo, len(names))
	ask := func(wanted []string) error {
		for i, name := range names {
			if infos[i].Name = name; !slices.Contains(wanted, name) {
				continue
			}
			p, err := e.plugins.Provider(ctx, name)
			if err != nil {
				return err
			}
			if infos[i], err = p.Describe(ctx); err != nil {
				return fmt.Errorf("ask the provider %s what it can do: %w", name, err)
			}
			infos[i].Name = name
		}
		return nil
	}
	if len(exp.Sandbox.Providers) == 0 { // the local one is asked first, and may be all that is needed
		if err := ask([]string{localName}); err != nil {
			return nil, err
		}
	}
	wanted := preflight.Candidates(exp, infos)
	if len(wanted) == 1 && wanted[0] == localName && len(exp.Sandbox.Providers) == 0 {
		return infos, nil
	}
	return infos, ask(append(wanted, localName))
}

// offers asks every provider that may be chosen what it has. This computer has
// nothing to sell, and a provider without a price list is taken at its word.
func (e *Engine) offers(ctx context.Context, exp *experiment.Experiment, f *preflight.Facts) {
	var ask []string
	for _, name := range preflight.Candidates(exp, f.Providers) {
		known := func(p sdk.ProviderInfo) bool {
			return p.Name == name && !p.Has(sdk.FeatureHostMounts) && preflight.MayHave(exp, p)
		}
		if slices.ContainsFunc(f.Providers, known) {
			ask = append(ask, name)
		}
	}
	s := exp.Sandbox
	answers := offers.Ask(ctx, e.driver.Offers, ask, func(provider string) []sdk.OfferQuery {
		q := sdk.OfferQuery{GPUCount: s.GPUCount, CPU: s.CPU, MemoryGB: s.MemoryGB, DiskGB: s.DiskGB, Regions: s.Regions, Options: s.Options(provider)}
		return offers.Queries(q, s.GPU)
	})
	f.Offers, f.OfferErrors = map[string][]sdk.Offer{}, map[string]error{}
	for _, a := range answers {
		switch {
		case a.Err == nil:
			f.Offers[a.Provider] = a.Offers
		case sdk.CodeOf(a.Err) != sdk.Unsupported:
			f.OfferErrors[a.Provider] = a.Err
		}
	}
}

// saved looks for a system that was saved on this computer.
func (e *Engine) saved(ref string) error {
	dir, err := e.store.Dir("local")
	if err != nil {
		return err
	}
	return local.FindSaved(dir, ref)
}

// portFree tries the port on loopback, where a local sandbox would have it.
func portFree(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}
