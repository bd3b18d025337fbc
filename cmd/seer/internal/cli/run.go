package cli

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/snapshot"
)

// Run is what a command does with its arguments.
type Run = func(cmd *cobra.Command, given []string) error

// With makes a Run of one that needs a value, which is opened when the command runs.
func With[T any](open func() (T, error), run func(cmd *cobra.Command, value T, given []string) error) Run {
	return func(cmd *cobra.Command, given []string) error {
		value, err := open()
		if err != nil {
			return err
		}
		return run(cmd, value, given)
	}
}

// WithEngine makes a Run of one that needs the engine.
func (a *App) WithEngine(run func(cmd *cobra.Command, e *engine.Engine, given []string) error) Run {
	return With(a.Engine, run)
}

// WithSnapshots makes a Run of one that needs the snapshots of this computer.
func (a *App) WithSnapshots(run func(cmd *cobra.Command, store *snapshot.Store, given []string) error) Run {
	return With(a.SnapshotStore, run)
}

// WithSandbox makes a Run of one that needs the live sandbox of its first argument.
func (a *App) WithSandbox(run func(cmd *cobra.Command, s *engine.Sandbox, given []string) error) Run {
	return func(cmd *cobra.Command, given []string) error {
		s, err := a.Open(cmd.Context(), given[0])
		if err != nil {
			return err
		}
		return run(cmd, s, given)
	}
}

// WithExperiment makes a Run of one that needs the engine and the experiment of its first
// argument, with the fields in set overridden.
func (a *App) WithExperiment(set *[]string, run func(cmd *cobra.Command, e *engine.Engine, exp *experiment.Experiment, given []string) error) Run {
	return func(cmd *cobra.Command, given []string) error {
		exp, err := a.LoadExperiment(cmd.Context(), given[0], *set)
		if err != nil {
			return err
		}
		e, err := a.Engine()
		if err != nil {
			return err
		}
		return run(cmd, e, exp, given)
	}
}
