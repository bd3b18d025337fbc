package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/trust"
)

// installed gathers what is known of Python.
func (e *Engine) installed(ctx context.Context, exp *experiment.Experiment, f *preflight.Facts) error {
	s := exp.Sandbox
	if len(s.PythonPackages) > 0 || s.PythonVersion != "" || len(s.Repos) > 0 || ownPython(s.ExecutionMode) {
		python, err := e.python.Default()
		if err == nil {
			f.Python, err = e.python.Probe(ctx, python.Executable)
		}
		if err != nil && slices.Contains(preflight.Candidates(exp, f.Providers), localName) { // others bring their own
			return err
		}
	}
	if s.PythonVersion != "" && (f.Python == nil || !f.Python.Is(s.PythonVersion)) {
		f.Pythons = preflight.FindPythons(ctx, s.PythonVersion, e.getenv)
	}
	return nil
}

// resolveRepos asks all repositories at once. A token of the user's goes to a repository
// only once the user has confirmed that.
func (e *Engine) resolveRepos(ctx context.Context, exp *experiment.Experiment, env *preflight.Env) ([]preflight.RepoState, error) {
	repos := preflight.Repos(exp)
	states := make([]preflight.RepoState, len(repos))
	set, err := e.installerSettings(env, exp)
	if err != nil { // the start says so before it makes anything
		e.log.Debug("resolving repositories without the installers' settings", "error", err)
	}
	ask := func(token func(string) string, which func(i int) bool) {
		var all sync.WaitGroup
		for i, r := range repos {
			if r.URL != "" && which(i) { // what is wrong with one without a URL is said elsewhere
				all.Go(func() { states[i] = preflight.ResolveRepo(ctx, r, preflight.GitSettings{Env: set.here, Token: token}) })
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
	if err := e.confirmTokens(ctx, exp, repos, closed); err != nil {
		return nil, err
	}
	ask(func(name string) string { value, _, _ := env.Lookup(name); return value }, closed)
	return states, nil
}

// confirmTokens has the user confirm that tokens go to the repositories that did not open.
func (e *Engine) confirmTokens(ctx context.Context, exp *experiment.Experiment, repos []preflight.Repo, closed func(i int) bool) error {
	facts := e.subject(exp)
	for i, r := range repos {
		if closed(i) {
			facts.Secrets = append(facts.Secrets, trust.Secret{Name: r.Token, From: "environment", To: r.URL})
		}
	}
	if len(facts.Secrets) == 0 {
		return nil
	}
	return e.Confirm(ctx, trust.Of(facts))
}
