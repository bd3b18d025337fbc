// Package modelscmd has the commands for the models on this computer.
package modelscmd

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/sdk"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }

// New makes the family of commands.
func New(base *cli.App) *cobra.Command {
	a := app{base}
	return cli.Family("models", "Fetch, list, verify and remove models on this computer",
		newPull(a), newLs(a), newVerify(a), newRm(a), newGC(a), newDu(a))
}

// with makes a Run of one that needs the models of this computer.
func (a app) with(run func(cmd *cobra.Command, m *engine.Models, given []string) error) cli.Run {
	return a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, given []string) error {
		return run(cmd, e.Models(a.UI.Progress), given)
	})
}

// parse reads all names before anything is done with the first one.
func parse(names []string) ([]sdk.ModelRef, error) {
	var refs []sdk.ModelRef
	for _, name := range names {
		ref, err := models.Parse(name)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// complete completes the names of models on this computer.
func (a app) complete(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	e, err := a.Engine()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := e.Models(nil).List(cmd.Context()) // what can be read is offered
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
