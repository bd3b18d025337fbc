package facts

import (
	"context"
	"slices"
	"sync"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/trust"
)

// installed gathers what is known of Python.
func (c *Collector) installed(ctx context.Context, exp *experiment.Experiment, f *preflight.Facts) error {
	s := exp.Sandbox
	if len(s.PythonPackages) > 0 || s.PythonVersion != "" || len(s.Repos) > 0 || s.Whole() {
		python, err := c.Python.Default()
		if err == nil {
			f.Python, err = c.Python.Probe(ctx, python.Executable)
		}
		if err != nil && slices.Contains(f.Candidates(exp), registry.Local) { // others bring their own
			return err
		}
	}
	if s.PythonVersion != "" && (f.Python == nil || !f.Python.Is(s.PythonVersion)) {
		f.Pythons = preflight.FindPythons(ctx, s.PythonVersion, c.getenv)
	}
	return nil
}

// resolveRepos asks all repositories at once. A token of the user's goes to a repository
// only once the user has confirmed that.
func (c *Collector) resolveRepos(ctx context.Context, exp *experiment.Experiment, env *preflight.Env) ([]preflight.RepoState, error) {
	repos := preflight.Repos(exp)
	states := make([]preflight.RepoState, len(repos))
	gitEnv, err := c.GitEnv(env, exp)
	if err != nil { // the start says so before it makes anything
		c.Logger.Debug("resolving repositories without the installers' settings", "error", err)
	}
	ask := func(token func(string) string, which func(i int) bool) {
		var all sync.WaitGroup
		for i, r := range repos {
			if r.URL != "" && which(i) { // what is wrong with one without a URL is said elsewhere
				all.Go(func() { states[i] = preflight.ResolveRepo(ctx, r, preflight.GitSettings{Env: gitEnv, Token: token}) })
			}
		}
		all.Wait()
	}
	own := func(name string) string { // what the experiment brings itself
		value, from, _ := env.Lookup(name)
		if from != preflight.DotEnv && exp.File != "" {
			return ""
		}
		return value
	}
	ask(own, func(int) bool { return true })
	closed := func(i int) bool { return states[i].Problem != "" && repos[i].Token != "" && own(repos[i].Token) == "" }
	if err := c.confirmTokens(ctx, exp, repos, closed); err != nil {
		return nil, err
	}
	ask(func(name string) string { value, _, _ := env.Lookup(name); return value }, closed)
	return states, nil
}

// confirmTokens has the user confirm that tokens go to the repositories that did not open.
func (c *Collector) confirmTokens(ctx context.Context, exp *experiment.Experiment, repos []preflight.Repo, closed func(i int) bool) error {
	var secrets []trust.Secret
	for i, r := range repos {
		if closed(i) {
			secrets = append(secrets, trust.Secret{Name: r.Token, From: "environment", To: r.URL})
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	return c.Confirm(ctx, exp, secrets)
}
