package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newSnapshot(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot ID",
		Short: "Save a sandbox's file system at its provider",
		Long: `Save the file system of a running sandbox at its provider, where the provider can
do that, and print the snapshot's ID. An experiment starts from it with
image: {snapshot: ID}. It outlives the sandbox; what runs is not part of it.`,
		Example:           "  seer snapshot lab",
		Args:              args(1, 1, "the sandbox"),
		ValidArgsFunction: a.completeSandbox,
		RunE: func(cmd *cobra.Command, given []string) error {
			e, err := a.engine()
			if err != nil {
				return err
			}
			image, err := e.Snapshot(cmd.Context(), given[0], a.ui.progress)
			if err != nil {
				return err
			}
			return a.print(map[string]string{"snapshot": image}, func(io.Writer) error { return a.println(image) })
		},
	}
}
