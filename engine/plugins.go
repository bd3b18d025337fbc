package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/host"
	"github.com/seer-engine/seer/engine/paths"
)

// Plugins lists the installed plugins without running their code. The errors are
// those of plugins that cannot be used.
func (e *Engine) Plugins(ctx context.Context) ([]host.Plugin, []error) {
	h, err := e.host()
	if err != nil {
		return nil, []error{err}
	}
	return h.Plugins(ctx)
}

// PluginDirs are the folders in which plugins are looked for, in order.
func (e *Engine) PluginDirs() []string { return slices.Concat(e.paths.Plugins, e.paths.WellKnown) }

// ToolPlaces are the folders in which tools such as gVisor's program are looked for.
func (e *Engine) ToolPlaces() []string { return e.paths.ToolPlaces() }

// provided is what the plugins offer for one contract.
func provided(plugins []host.Plugin, contract string) []string {
	var names []string
	for _, p := range plugins {
		for _, c := range p.Manifest.Implements {
			if kind, _, _ := strings.Cut(c, "/"); kind == contract {
				names = append(names, p.Manifest.Provides...)
			}
		}
	}
	return names
}

// pluginAccess says what a plugin may do: those that come with this program what they
// ask for, the others what the user has granted.
func (e *Engine) pluginAccess(ctx context.Context, p host.Plugin) (host.Grant, error) {
	id := p.Manifest.ID
	known, builtin := e.opts.BuiltinPlugins[id]
	if builtin && known == p.Digest {
		return host.Grant{Lines: p.Access, By: "built in"}, nil
	}
	var g host.Grant
	var err error
	if e.opts.PluginAccess != nil {
		g, err = e.opts.PluginAccess(ctx, p)
	} else if s, failed := e.shelf(); failed != nil {
		err = failed
	} else {
		g, err = s.Decide(ctx, p)
	}
	if err != host.ErrNotGranted || filepath.Dir(p.File) != paths.Beside("plugins") { //nolint:errorlint // one that is wrapped says more
		return g, err
	}
	switch {
	case builtin:
		return g, fmt.Errorf("is not the file that came with this seer, which has the digest %s; install seer again, or see `seer plugin grant %s`", known, id)
	case len(e.opts.BuiltinPlugins) == 0:
		return g, fmt.Errorf("asks for access that nobody has granted, and this seer does not know the plugins beside it: build both with `make`, or see `seer plugin grant %s`", id)
	}
	return g, err
}
