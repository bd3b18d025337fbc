package registry

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/preflight"
)

// credentials finds what the host adds to the requests of plugins, where the
// environment does not have it: in .env beside an experiment that this engine has
// seen or that has a live sandbox. A sandbox can so be ended from any folder.
type credentials struct {
	ledger func() ([]machine.Record, error)

	mu   sync.Mutex
	dirs []string
}

// saw adds the folder of an experiment, before all others.
func (c *credentials) saw(file string) {
	if file == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := filepath.Dir(file)
	c.dirs = slices.Insert(slices.DeleteFunc(c.dirs, func(have string) bool { return have == dir }), 0, dir)
}

func (c *credentials) find(name string) (value, where string, ok bool) {
	for _, dir := range c.folders() {
		env, err := preflight.ReadEnv(dir, nil) // one that cannot be read is an error of its experiment
		if err != nil {
			continue
		}
		if value, _, ok = env.Lookup(name); ok {
			return value, filepath.Join(dir, ".env"), true
		}
	}
	return "", "", false
}

func (c *credentials) folders() []string {
	c.mu.Lock()
	dirs := slices.Clone(c.dirs)
	c.mu.Unlock()
	records, _ := c.ledger()
	for _, r := range records {
		if r.ExperimentFile != "" && (r.Live() || !r.Released) {
			dirs = append(dirs, filepath.Dir(r.ExperimentFile))
		}
	}
	return dirs
}

// SawExperiment has the credentials in .env beside an experiment found, before all others.
// An empty file is none.
func (r *Registry) SawExperiment(file string) { r.credentials.saw(file) }
