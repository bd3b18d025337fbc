package plugincmd

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/store"
)

func newPluginRevoke(a app) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke all grants of a plugin",
		Long: `Revoke all grants of a plugin, including those of folders. Seer does not run the plugin
afterwards. A provider can then no longer end its machines: end them first, with seer
down.`,
		Example:           "  seer plugin revoke provider-tiny",
		Args:              cli.Args(1, 1, "the ID of a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: a.withStore(func(cmd *cobra.Command, s *store.Store, given []string) error {
			n, err := s.Revoke(cmd.Context(), given[0])
			if err != nil {
				return pluginError(err)
			}
			if n == 0 {
				return &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("nothing is granted to %q", given[0])}
			}
			return a.Print(map[string]any{"id": given[0], "revoked": n}, func(io.Writer) error {
				a.UI.Tell("Revoked %s of %s", term.Plural(n, "grant"), given[0])
				a.warnAboutMachines(cmd.Context(), given[0])
				return nil
			})
		}),
	}
}

// warnAboutMachines tells which sandboxes a provider without a grant can no longer end.
func (a app) warnAboutMachines(ctx context.Context, id string) {
	e, err := a.Engine()
	if err != nil {
		return
	}
	p, err := a.findPlugin(ctx, id)
	if err != nil {
		return
	}
	infos, _ := e.Sandboxes(ctx, false) // from the records, asking nobody
	for _, i := range infos {
		if i.State.Live() && slices.Contains(p.Manifest.Provides, i.Provider) {
			a.UI.Note("warning", fmt.Sprintf("%s runs on %s, which %s cannot end any more; grant it again and say seer down %s, or end it at the provider", i.ID, i.Provider, id, i.ID))
		}
	}
}
