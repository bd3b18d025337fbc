package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
)

// loadExperiment reads an experiment. The plugins of this program are from then on
// those of the seer.lock beside it.
func (a *app) loadExperiment(ctx context.Context, file string, set []string) (*experiment.Experiment, error) {
	if file == "" {
		return nil, usagef("the name of the experiment FILE is empty; seer init writes one, seer.yaml")
	}
	a.lockDir = filepath.Dir(file)
	exp, err := experiment.Load(ctx, file, experiment.LoadOptions{Set: set, Partial: true})
	if err == nil && len(exp.Mistakes()) > 0 {
		return nil, a.mistakes(ctx, exp)
	}
	return exp, err
}

// mistakes are all that can be found in an experiment that has some already, so that nobody
// mends a file in two rounds.
func (a *app) mistakes(ctx context.Context, exp *experiment.Experiment) error {
	e, err := a.engine()
	if err != nil {
		return exp.Mistakes()
	}
	report, err := e.Check(ctx, exp, engine.CheckOptions{Unguarded: true, Offline: true})
	if err != nil {
		return exp.Mistakes()
	}
	return report.Err()
}

func addSet(c *cobra.Command, set *[]string) {
	c.Flags().StringArrayVar(set, "set", nil, "override a field: `KEY=VALUE`, as in sandbox.timeout=2h; may be repeated")
}

func addUnguarded(c *cobra.Command, o *engine.CheckOptions) {
	c.Flags().BoolVar(&o.Unguarded, "unguarded", false, "also on a provider that cannot end its machines by itself:\none that loses its seer then costs money until you end it")
}

func completeExperiment(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
