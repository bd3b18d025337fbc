package plugincmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/store"
)

// grantFolder grants all plugins that lie in the folder now, each by what it asks for.
func (a app) grantFolder(ctx context.Context, g granting) error {
	s, err := a.pluginStore()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(g.folder)
	if err != nil {
		return err
	}
	plugins, err := pluginsIn(dir)
	if err != nil {
		return err
	}
	all := []granted{}
	for _, p := range plugins {
		if len(p.Access) == 0 {
			continue
		}
		g.inFile = true
		lines, err := a.confirmGrant(ctx, p, g)
		if err != nil {
			return err
		}
		if err := s.GrantFolder(ctx, store.FolderGrant{Dir: dir, ID: p.Manifest.ID, Asked: p.Access, Lines: lines, By: g.by()}); err != nil {
			return pluginError(err)
		}
		all = append(all, granted{ID: p.Manifest.ID, Lines: lines, Hash: lines.Hash(), Folder: dir})
	}
	return a.Print(all, func(io.Writer) error {
		for _, one := range all {
			a.UI.Tell("Granted the builds of %s in %s", one.ID, dir)
		}
		if len(all) == 0 {
			a.UI.Tell("The plugins in %s ask for nothing and need no grant", dir)
		}
		return nil
	})
}

// pluginsIn are the plugins in a folder.
func pluginsIn(dir string) ([]host.Plugin, error) {
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.wasm"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		if _, err := os.Stat(dir); err != nil {
			return nil, &engine.Error{Kind: engine.KindNotFound, Err: err}
		}
		return nil, &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("there is no plugin in %s; build it first: seer plugin build", dir)}
	}
	var plugins []host.Plugin
	for _, file := range files {
		p, err := host.Inspect(file)
		if err != nil {
			return nil, pluginError(err)
		}
		plugins = append(plugins, p)
	}
	return plugins, nil
}

// escapeGlob makes a folder's name stand for itself in a pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
