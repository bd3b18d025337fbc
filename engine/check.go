package engine

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// Check finds everything that would stop the experiment, before anything is
// rented. What it finds is in the report; see [preflight.Report.Err].
func (e *Engine) Check(ctx context.Context, exp *experiment.Experiment) (preflight.Report, error) {
	facts, err := e.facts(ctx, exp)
	if err != nil {
		return preflight.Report{}, as(KindConfig, err)
	}
	report, err := preflight.Check(ctx, exp, facts)
	return report, as(KindInternal, err)
}

// Plan says what the experiment will make, where and at what cost. It makes
// nothing. An experiment that cannot work is an [experiment.Errors].
func (e *Engine) Plan(ctx context.Context, exp *experiment.Experiment) (plan.Plan, error) {
	report, err := e.Check(ctx, exp)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Make(exp, report)
	return p, as(KindConfig, err)
}

func (e *Engine) env(exp *experiment.Experiment) (*preflight.Env, error) {
	dir := "."
	if exp.File != "" {
		dir = filepath.Dir(exp.File)
	}
	return preflight.ReadEnv(dir, e.opts.LookupEnv)
}

// facts gathers what preflight judges. Plugins are read, not run, except the one
// provider that the experiment names.
func (e *Engine) facts(ctx context.Context, exp *experiment.Experiment) (preflight.Facts, error) {
	env, err := e.env(exp)
	if err != nil {
		return preflight.Facts{}, err
	}
	plugins, broken := e.Plugins(ctx)
	for _, err := range broken {
		e.log.Warn("a plugin cannot be used", "error", err)
	}
	f := preflight.Facts{
		Env:         env,
		Sources:     append(slices.Collect(maps.Keys(e.opts.Fetchers)), provided(plugins, "fetcher")...),
		ExposeModes: append(slices.Collect(maps.Keys(e.opts.Exposers)), provided(plugins, "expose")...),
		PluginDirs:  e.PluginDirs(), PortFree: portFree,
	}
	names := append(slices.Collect(maps.Keys(e.opts.Providers)), localName)
	f.Providers, err = e.describe(ctx, exp, append(names, provided(plugins, "provider")...))
	if err != nil {
		return f, err
	}
	if exp.Agent != nil {
		f.AgentIsolations = e.isolations(ctx, f.Providers)
		if python, err := e.python(); err == nil {
			f.AgentPath = python.SearchPath()
		}
	}
	if len(exp.Sandbox.PythonPackages) > 0 {
		var python isolation.Interpreter
		if python, err = e.python(); err == nil {
			f.Python, err = preflight.ProbePython(ctx, python.Executable)
		}
	}
	return f, err
}

// isolations are those of this computer. The built-in provider, where it was
// asked, has just tried them.
func (e *Engine) isolations(ctx context.Context, asked []sdk.ProviderInfo) []sdk.Isolation {
	_, replaced := e.opts.Providers[localName]
	for _, p := range asked {
		if p.Name == localName && !replaced && len(p.Isolations) > 0 {
			return p.Isolations
		}
	}
	return isolation.Detect(ctx)
}

// describe asks the providers that may be chosen; the others are only named.
func (e *Engine) describe(ctx context.Context, exp *experiment.Experiment, names []string) ([]sdk.ProviderInfo, error) {
	slices.Sort(names)
	var infos []sdk.ProviderInfo
	for _, name := range slices.Compact(names) {
		if wanted := exp.Sandbox.Providers; !slices.Contains(wanted, name) && !(len(wanted) == 0 && name == localName) {
			infos = append(infos, sdk.ProviderInfo{Name: name})
			continue
		}
		p, err := e.provider(ctx, name)
		if err != nil {
			return nil, err
		}
		info, err := p.Describe(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask the provider %s what it can do: %w", name, err)
		}
		info.Name = name
		infos = append(infos, info)
	}
	return infos, nil
}

// portFree tries the port on loopback, where a local sandbox would have it.
func portFree(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}
