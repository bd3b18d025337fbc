package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/sdk"
)

func (a *app) completeSnapshot(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	store, err := a.snapshotStore()
	if err != nil {
		return nil, noFiles
	}
	all, _ := store.List(cmd.Context())
	var names []string
	for _, s := range all {
		if !slices.Contains(given, s.Name) {
			names = append(names, strings.TrimRight(s.Name+"\t"+sanitize.Line(s.Description), "\t"))
		}
	}
	return names, noFiles
}

// completeProvider offers this computer and what plugins provide.
func (a *app) completeProvider(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"local\tthis computer"}
	a.eachManifest(cmd.Context(), func(m sdk.Manifest) {
		if slices.ContainsFunc(m.Implements, func(c string) bool { return strings.HasPrefix(c, "provider/") }) {
			names = append(names, m.Provides...)
		}
	})
	return names, noFiles
}

// snapshotStore is that of this computer.
func (a *app) snapshotStore() (*snapshot.Store, error) {
	e, err := a.engine()
	if err != nil {
		return nil, err
	}
	return e.Snapshots()
}
