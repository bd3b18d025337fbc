// Package plugincmd has the commands that install, allow and write plugins.
package plugincmd

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine/plugin/store"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }

// withStore makes a Run of one that needs the installed plugins.
func (a app) withStore(run func(cmd *cobra.Command, s *store.Store, given []string) error) cli.Run {
	return cli.With(a.pluginStore, run)
}
