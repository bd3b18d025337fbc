package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine/experiment"
)

func loadExperiment(ctx context.Context, file string, set []string) (*experiment.Experiment, error) {
	return experiment.Load(ctx, file, experiment.LoadOptions{Set: set})
}

func addSet(c *cobra.Command, set *[]string) {
	c.Flags().StringArrayVar(set, "set", nil, "override a field: `KEY=VALUE`, as in sandbox.timeout=2h; may be repeated")
}

func completeExperiment(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
