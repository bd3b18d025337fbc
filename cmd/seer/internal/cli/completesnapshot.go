package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/sdk"
)

// CompleteSnapshot offers the snapshots that are not named yet.
func (a *App) CompleteSnapshot(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	store, err := a.SnapshotStore()
	if err != nil {
		return nil, NoFiles
	}
	all, _ := store.List(cmd.Context())
	var names []string
	for _, s := range all {
		if !slices.Contains(given, s.Name) {
			names = append(names, strings.TrimRight(s.Name+"\t"+sanitize.Line(s.Description), "\t"))
		}
	}
	return names, NoFiles
}

// CompleteProvider offers this computer and what plugins provide.
func (a *App) CompleteProvider(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"local\tthis computer"}
	a.EachManifest(cmd.Context(), func(m sdk.Manifest) {
		if slices.ContainsFunc(m.Implements, func(c string) bool { return strings.HasPrefix(c, "provider/") }) {
			names = append(names, m.Provides...)
		}
	})
	return names, NoFiles
}

// SnapshotStore is that of this computer.
func (a *App) SnapshotStore() (*snapshot.Store, error) {
	e, err := a.Engine()
	if err != nil {
		return nil, err
	}
	return e.Snapshots()
}
