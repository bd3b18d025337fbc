package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/store"
)

// Plugins lists the installed plugins without running their code. The errors are
// those of plugins that cannot be used.
func (e *Engine) Plugins(ctx context.Context) ([]host.Plugin, []error) {
	return e.plugins.Plugins(ctx)
}

// PluginDirs are the folders in which plugins are looked for, in order.
func (e *Engine) PluginDirs() []string { return e.plugins.Dirs() }

// PluginStore is where installed plugins, grants and the audit are.
func (e *Engine) PluginStore() (*store.Store, error) { return e.plugins.Store() }

// ToolPlaces are the folders in which tools such as gVisor's program are looked for.
func (e *Engine) ToolPlaces() []string { return e.paths.ToolPlaces() }
