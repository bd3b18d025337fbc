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

// installed gathers what is known of Python and of repositories.
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
	f.Repos = e.resolveRepos(ctx, exp, f.Env)
	return nil
}

// resolveRepos asks all repositories at once.
func (e *Engine) resolveRepos(ctx context.Context, exp *experiment.Experiment, env *preflight.Env) []preflight.RepoState {
	repos := preflight.Repos(exp)
	states := make([]preflight.RepoState, len(repos))
	git := preflight.GitSettings{Env: e.installerSettings(env, exp.Sandbox.Env).here, Token: func(name string) string {
		value, _, _ := env.Lookup(name)
		return value
	}}
	var all sync.WaitGroup
	for i, r := range repos {
		if r.URL == "" { // what is wrong with it is said elsewhere
			continue
		}
		all.Go(func() { states[i] = preflight.ResolveRepo(ctx, r, git) })
	}
	all.Wait()
	return states
}
