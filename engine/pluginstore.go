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
	data := e.userDir(e.opts.DataDir, "XDG_DATA_HOME", ".local/share")
	if data == "" {
		return nil, errors.New("there is no place for plugins and grants: set HOME or XDG_DATA_HOME")
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	config := e.opts.ConfigFile
	if dir := e.userDir("", "XDG_CONFIG_HOME", ".config"); config == "" && dir != "" {
		config = filepath.Join(dir, "config.yaml")
	}
	return store.Open(store.Options{
		DataDir: data, StateDir: e.store.StateDir(), ConfigFile: config, Now: e.now, Logger: e.log.Named("plugins"),
	})
}

// userDir is Seer's folder of one kind: the one that is given, or that of the XDG
// variable, or that below the home folder. "" = there is none.
func (e *Engine) userDir(given, variable, below string) string {
	if given != "" {
		return given
	}
	if dir := e.getenv(variable); dir != "" {
		return filepath.Join(dir, "seer")
	}
	if home := e.getenv("HOME"); home != "" {
		return filepath.Join(home, filepath.FromSlash(below), "seer")
	}
	return ""
}

// searched are the folders that must exist, in order: a lock's plugins, those that were
// named, and without a lock the installed ones.
func (e *Engine) searched() (dirs []string, broken map[string]error, err error) {
	s, err := e.shelf()
	if err != nil && e.opts.LockDir == "" { // without a home folder, plugins come from folders
		return e.pluginDir, nil, nil
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
		return slices.Concat(locked, e.pluginDir), nil, as(KindPlugin, err)
	}
	installed, err := s.Dirs()
	broken, err = brokenPlugins(err)
	return slices.Concat(e.pluginDir, installed), broken, err
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
