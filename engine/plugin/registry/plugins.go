package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/remedy"
)

// Plugins lists the installed plugins without running their code. The errors are
// those of plugins that cannot be used.
func (r *Registry) Plugins(ctx context.Context) ([]host.Plugin, []error) {
	h, err := r.host()
	if err != nil {
		return nil, []error{err}
	}
	return h.Plugins(ctx)
}

// Dirs are the folders in which plugins are looked for, in order.
func (r *Registry) Dirs() []string { return slices.Concat(r.o.Paths.Plugins, r.o.Paths.WellKnown) }

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
func (r *Registry) pluginAccess(ctx context.Context, p host.Plugin) (host.Grant, error) {
	id := p.Manifest.ID
	known, builtin := r.o.BuiltinPlugins[id]
	if builtin && known == p.Digest {
		return host.Grant{Lines: p.Access, By: "built in"}, nil
	}
	var g host.Grant
	var err error
	if r.o.PluginAccess != nil {
		g, err = r.o.PluginAccess(ctx, p)
	} else if s, failed := r.store(); failed != nil {
		err = failed
	} else {
		g, err = s.Decide(ctx, p)
	}
	if err != host.ErrNotGranted || filepath.Dir(p.File) != paths.Beside("plugins") { //nolint:errorlint // one that is wrapped says more
		return g, err
	}
	switch {
	case builtin:
		return g, remedy.For(fmt.Errorf("is not the file that came with this program, which has the digest %s; install this program again, or grant it to the plugin", known), grant(id))
	case len(r.o.BuiltinPlugins) == 0:
		return g, remedy.For(errors.New("asks for access that nobody has granted, and this program does not know the plugins beside it: build both with `make`, or grant it to the plugin"), grant(id))
	}
	return g, err
}

// Announce tells of plugins whose first use on this computer is about to come, for
// that takes a while.
func (r *Registry) Announce(ctx context.Context, providers []string, report event.Reporter) {
	h, err := r.host()
	if err != nil {
		return // whoever needs it will be told
	}
	plugins, _ := h.Plugins(ctx)
	for _, p := range plugins {
		wanted := func(name string) bool {
			return r.o.Providers[name] == nil && slices.Contains(p.Manifest.Provides, name)
		}
		if slices.ContainsFunc(providers, wanted) && !h.Compiled(p) {
			report.Send(event.PluginPreparing{Plugin: p.Manifest.ID})
		}
	}
}

func grant(id string) remedy.Remedy { return remedy.Remedy{Action: remedy.GrantPlugin, Plugin: id} }
