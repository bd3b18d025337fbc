package registry

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/store"
)

// Store is where installed plugins, grants and the audit are.
func (r *Registry) Store() (*store.Store, error) {
	s, err := r.store()
	return s, errdefs.Wrap(errdefs.KindConfig, err)
}

func (r *Registry) openStore() (*store.Store, error) {
	data := r.o.Paths.Data()
	if data == "" {
		return nil, errors.New("there is no place for plugins and grants: set HOME or XDG_DATA_HOME")
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	return store.Open(store.Options{
		DataDir: data, StateDir: r.o.State.StateDir(), ConfigFile: r.configFile(), Now: r.o.Now, Logger: r.o.Logger.Named("plugins"),
	})
}

// configFile is the user's configuration; empty where there is no place for one.
func (r *Registry) configFile() string {
	if r.o.ConfigFile != "" {
		return r.o.ConfigFile
	}
	if dir := r.o.Paths.Config(); dir != "" {
		return filepath.Join(dir, "config.yaml")
	}
	return ""
}

// searched are the folders that must exist, in order: a lock's plugins, those that were
// named, and without a lock the installed ones.
func (r *Registry) searched() (dirs []string, broken map[string]error, err error) {
	s, err := r.store()
	if err != nil && r.o.LockDir == "" { // without a home folder, plugins come from folders
		return r.o.Paths.Plugins, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if r.o.LockDir != "" && store.HasLock(r.o.LockDir) {
		lock, err := store.ReadLock(r.o.LockDir)
		if err != nil {
			return nil, nil, errdefs.Wrap(errdefs.KindConfig, err)
		}
		locked, err := s.Use(lock)
		return slices.Concat(locked, r.o.Paths.Plugins), nil, errdefs.Wrap(errdefs.KindPlugin, err)
	}
	installed, err := s.Dirs()
	broken, err = brokenPlugins(err)
	return slices.Concat(r.o.Paths.Plugins, installed), broken, err
}

// brokenPlugins are the installed plugins that cannot be used, by id, or what keeps all
// from being known.
func brokenPlugins(err error) (map[string]error, error) {
	broken := map[string]error{}
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) {
		return nil, err
	}
	for _, one := range several.Unwrap() {
		var b *store.BrokenError
		if !errors.As(one, &b) {
			return nil, err
		}
		broken[b.ID] = one
	}
	return broken, nil
}

// pluginAudit takes note of what plugins request.
func (r *Registry) pluginAudit() (func(host.Audit), *store.Recorder, error) {
	if r.o.PluginAudit != nil {
		return r.o.PluginAudit, nil, nil
	}
	s, err := r.store()
	if err != nil {
		return nil, nil, nil //nolint:nilerr // nowhere to write it
	}
	recorder := s.NewRecorder()
	return recorder.Record, recorder, nil
}
