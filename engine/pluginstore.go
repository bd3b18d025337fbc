package engine

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/host"
	"github.com/seer-engine/seer/engine/plugin/store"
)

// PluginStore is where installed plugins, grants and the audit are.
func (e *Engine) PluginStore() (*store.Store, error) {
	s, err := e.shelf()
	return s, as(KindConfig, err)
}

func (e *Engine) openPluginStore() (*store.Store, error) {
	data := e.paths.Data()
	if data == "" {
		return nil, errors.New("there is no place for plugins and grants: set HOME or XDG_DATA_HOME")
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	config := e.opts.ConfigFile
	if dir := e.paths.Config(); config == "" && dir != "" {
		config = filepath.Join(dir, "config.yaml")
	}
	return store.Open(store.Options{
		DataDir: data, StateDir: e.store.StateDir(), ConfigFile: config, Now: e.now, Logger: e.log.Named("plugins"),
	})
}

// searched are the folders that must exist, in order: a lock's plugins, those that were
// named, and without a lock the installed ones.
func (e *Engine) searched() (dirs []string, broken map[string]error, err error) {
	s, err := e.shelf()
	if err != nil && e.opts.LockDir == "" { // without a home folder, plugins come from folders
		return e.paths.Plugins, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if e.opts.LockDir != "" && store.HasLock(e.opts.LockDir) {
		lock, err := store.ReadLock(e.opts.LockDir)
		if err != nil {
			return nil, nil, as(KindConfig, err)
		}
		locked, err := s.Use(lock)
		return slices.Concat(locked, e.paths.Plugins), nil, as(KindPlugin, err)
	}
	installed, err := s.Dirs()
	broken, err = brokenPlugins(err)
	return slices.Concat(e.paths.Plugins, installed), broken, err
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
func (e *Engine) pluginAudit() (func(host.Audit), *store.Recorder, error) {
	if e.opts.PluginAudit != nil {
		return e.opts.PluginAudit, nil, nil
	}
	s, err := e.shelf()
	if err != nil {
		return nil, nil, nil //nolint:nilerr // nowhere to write it
	}
	r := s.NewRecorder()
	return r.Record, r, nil
}
