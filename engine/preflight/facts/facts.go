// Package facts gathers what preflight judges: from the plugins and providers, from Python,
// from repositories, and from the code that an experiment brings.
package facts

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/offers"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/readiness"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// Collector gathers the facts of experiments. All fields must be set.
type Collector struct {
	Plugins   *registry.Registry
	Python    *pyenv.Finder
	Paths     paths.Paths
	Store     *state.Store
	LookupEnv func(string) (string, bool)
	Logger    hclog.Logger

	Offers offers.Source                // asks a provider what it has
	Ready  readiness.Checker            // asks a provider what stands in the way of its machines
	Local  func() (sdk.Provider, error) // the provider of this computer

	// GitEnv is the environment for git with the user's settings. Beside an error it may be
	// empty: the start reports the error before it makes anything.
	GitEnv func(*preflight.Env, *experiment.Experiment) (map[string]string, error)
	// Confirm has the user confirm that secrets leave this computer.
	Confirm func(context.Context, *experiment.Experiment, []trust.Secret) error
}

func (c *Collector) getenv(name string) string {
	v, _ := c.LookupEnv(name)
	return v
}

// CheckDebug finds that VS Code is wanted and this computer, on which the sandbox may be,
// has none, or that the release for others is pinned to what is no SHA-256.
func (c *Collector) CheckDebug(exp *experiment.Experiment, report *preflight.Report) {
	here := func(choice preflight.Choice) bool { return choice.Provider.Has(sdk.FeatureHostMounts) }
	if !exp.Sandbox.Debug {
		return
	}
	err := codeserver.CheckPinned(c.getenv(codeserver.PinnedIn))
	if err == nil && slices.ContainsFunc(report.Choices, here) {
		_, err = codeserver.Finder{Getenv: c.getenv, Tools: c.Paths.Tools}.Find()
	}
	if err != nil {
		finding := exp.Errorf("sandbox.debug", err.Error(), "")
		finding.Remedies = remedy.Of(err)
		report.Findings = append(report.Findings, preflight.Finding{Severity: preflight.SeverityError, Error: *finding})
	}
}

// Env is the environment of an experiment, with the .env beside it.
func (c *Collector) Env(exp *experiment.Experiment) (*preflight.Env, error) {
	dir := "."
	if exp.File != "" {
		dir = filepath.Dir(exp.File)
	}
	return preflight.ReadEnv(dir, c.LookupEnv)
}

// Collect gathers what preflight judges. Plugins are read, not run, except the
// providers that the experiment may be run on.
func (c *Collector) Collect(ctx context.Context, exp *experiment.Experiment, offline, withAgent bool) (preflight.Facts, error) {
	env, err := c.Env(exp)
	if err != nil {
		return preflight.Facts{}, err
	}
	if err := c.Plugins.Open(); err != nil { // such as a lock whose plugins are not there: no others in their place
		return preflight.Facts{}, errdefs.Wrap(errdefs.KindPlugin, err)
	}
	plugins, broken := c.Plugins.Plugins(ctx)
	for _, err := range broken {
		c.Logger.Warn("a plugin cannot be used", "error", err)
	}
	f := preflight.Facts{
		Env:         env,
		Sources:     c.Plugins.Sources(plugins),
		ExposeModes: c.Plugins.ExposeModes(plugins),
		PluginDirs:  c.Plugins.Dirs(), PortFree: portFree,
		Root: os.Geteuid() == 0,
	}
	if !c.Plugins.LocalReplaced() {
		f.Saved = c.saved
	}
	if f.Policy, err = policy.Read(); err != nil {
		return f, err
	}
	if f.GPUProviders, err = c.Plugins.GPUProviders(plugins); err != nil {
		return f, err
	}
	proxyOnly := c.proxyOnly(ctx, exp)
	f.Providers, err = c.describe(ctx, exp, f.GPUProviders, append(c.Plugins.Providers(plugins), registry.Local))
	if err != nil {
		return f, err
	}
	if f.Offline = offline; !offline {
		checks := c.checks(ctx, exp, &f)
		c.offers(ctx, exp, &f)
		f.Checks = <-checks
	}
	f.ProxyOnly = <-proxyOnly
	if exp.Agent != nil {
		f.AgentIsolations = c.isolations(ctx, f.Providers)
		if python, err := c.Python.Default(); err == nil {
			f.AgentPath, f.AgentSees = python.SearchPath(), append(isolation.Visible(), python.Paths...)
		}
	}
	if exp.Agent != nil && withAgent {
		f.AgentProblems = c.agentProblems(ctx, exp.Agent, env)
	}
	if err := c.installed(ctx, exp, &f); err != nil || offline {
		return f, err
	}
	f.Repos, err = c.resolveRepos(ctx, exp, f.Env)
	return f, err
}

// Agents are what agents are settled from.
func (c *Collector) Agents(env *preflight.Env) agent.Sources {
	return agent.Sources{Lookup: env.Lookup, Getenv: c.getenv, Profiles: c.Paths.Profiles(), Prices: c.Paths.Prices()}
}

func (c *Collector) agentProblems(ctx context.Context, a *experiment.Agent, env *preflight.Env) (all []preflight.AgentProblem) {
	_, found := c.Agents(env).Resolve(ctx, a)
	for _, p := range found {
		all = append(all, preflight.AgentProblem{Path: p.Field, Message: p.Message, Hint: p.Hint})
	}
	return all
}

// proxyOnly finds out, beside other work, what a sandbox of this computer has whose open
// network nothing connects; see [preflight.Facts].
func (c *Collector) proxyOnly(ctx context.Context, exp *experiment.Experiment) <-chan string {
	found := make(chan string, 1)
	if p := exp.Sandbox.Providers; exp.Sandbox.Network != "open" || exp.Sandbox.Isolation == "none" || len(p) > 0 && !slices.Contains(p, registry.Local) {
		found <- ""
		return found
	}
	go func() {
		if _, err := c.openNetwork(ctx); err != nil {
			found <- local.ProxyOnly(err)
			return
		}
		found <- ""
	}()
	return found
}

// openNetwork finds what connects the open network of a sandbox on this computer.
func (c *Collector) openNetwork(ctx context.Context) (string, error) {
	if c.Plugins.LocalReplaced() {
		return "", nil
	}
	p, err := c.Local()
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
func (c *Collector) isolations(ctx context.Context, asked []sdk.ProviderInfo) []sdk.Isolation {
	replaced := c.Plugins.LocalReplaced()
	for _, p := range asked {
		if p.Name == registry.Local && !replaced && len(p.Isolations) > 0 {
			return p.Isolations
		}
	}
	return isolation.Detect(ctx, c.Paths.ToolPlaces()...)
}

// describe asks the providers that may be chosen; the others are only named.
func (c *Collector) describe(ctx context.Context, exp *experiment.Experiment, gpuProviders, names []string) ([]sdk.ProviderInfo, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	infos := make([]sdk.ProviderInfo, len(names))
	ask := func(wanted []string) error {
		for i, name := range names {
			if infos[i].Name = name; !slices.Contains(wanted, name) {
				continue
			}
			p, err := c.Plugins.Provider(ctx, name)
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
		if err := ask([]string{registry.Local}); err != nil {
			return nil, err
		}
	}
	wanted := preflight.Candidates(exp, infos, gpuProviders)
	if len(wanted) == 1 && wanted[0] == registry.Local && len(exp.Sandbox.Providers) == 0 {
		return infos, nil
	}
	return infos, ask(append(wanted, registry.Local))
}

// offers asks every provider that may be chosen what it has. This computer has
// nothing to sell, and a provider without a price list is taken at its word. Without a GPU, this
// computer is asked why: it may have some that cannot be used.
func (c *Collector) offers(ctx context.Context, exp *experiment.Experiment, f *preflight.Facts) {
	var ask []string
	here := map[string]bool{}
	for _, name := range f.Candidates(exp) {
		known := func(p sdk.ProviderInfo) bool {
			return p.Name == name && !p.Has(sdk.FeatureHostMounts) && preflight.MayHave(exp, p)
		}
		without := func(p sdk.ProviderInfo) bool {
			return p.Name == name && p.Has(sdk.FeatureHostMounts) && len(p.GPUs) == 0 && len(exp.Sandbox.GPU) > 0
		}
		here[name] = slices.ContainsFunc(f.Providers, without)
		if here[name] || slices.ContainsFunc(f.Providers, known) {
			ask = append(ask, name)
		}
	}
	s := exp.Sandbox
	answers := offers.Ask(ctx, c.Offers, ask, func(provider string) []sdk.OfferQuery {
		q := sdk.OfferQuery{GPUCount: s.GPUCount, CPU: s.CPU, MemoryGB: s.MemoryGB, DiskGB: s.DiskGB, Regions: s.Regions, Options: s.Options(provider)}
		return offers.Queries(q, s.GPU)
	})
	f.Offers, f.OfferErrors = map[string][]sdk.Offer{}, map[string]error{}
	for _, a := range answers {
		switch {
		case here[a.Provider] && a.Err == nil: // it has none
		case a.Err == nil:
			f.Offers[a.Provider] = a.Offers
		case sdk.CodeOf(a.Err) != sdk.Unsupported || here[a.Provider]:
			f.OfferErrors[a.Provider] = a.Err
		}
	}
}

// saved looks for a system that was saved on this computer.
func (c *Collector) saved(ref string) error {
	dir, err := c.Store.Dir("local")
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
