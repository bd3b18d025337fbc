package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/trust"
)

// probed is an interpreter with what it depends on: the folders of its packages, which
// every installation changes.
type probed struct {
	Python  preflight.Python `json:"python"`
	Changed map[string]int64 `json:"changed"`
}

// probe asks an interpreter what it has, or remembers what it has said: with many
// packages the asking takes as long as the rest of a start.
func (e *Engine) probe(ctx context.Context, path string) (*preflight.Python, error) {
	dir, err := e.store.Cache("python")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte("2\n" + path + "\n" + e.pythonNote(func(string) string { return path })))
	note := filepath.Join(dir, hex.EncodeToString(sum[:])[:32]+"-packages.json")
	var known probed
	if data, err := os.ReadFile(note); err == nil && json.Unmarshal(data, &known) == nil && known.fresh() {
		return &known.Python, nil
	}
	found, err := preflight.ProbePython(ctx, path)
	if err != nil {
		return nil, err
	}
	known = probed{Python: *found, Changed: map[string]int64{}}
	for _, folder := range append(found.Folders, path) {
		known.Changed[folder] = changed(folder)
	}
	if data, err := json.Marshal(known); err == nil {
		_ = state.WriteFile(note, data, 0o600) // only spares the next asking
	}
	return found, nil
}

func (p probed) fresh() bool {
	for folder, when := range p.Changed {
		if changed(folder) != when {
			return false
		}
	}
	return len(p.Changed) > 0
}

// changed is when a folder was changed; 0 = there is none.
func changed(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// installed gathers what is known of Python.
func (e *Engine) installed(ctx context.Context, exp *experiment.Experiment, f *preflight.Facts) error {
	s := exp.Sandbox
	if len(s.PythonPackages) > 0 || s.PythonVersion != "" || len(s.Repos) > 0 || ownPython(s.ExecutionMode) {
		python, err := e.python()
		if err == nil {
			f.Python, err = e.probe(ctx, python.Executable)
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
