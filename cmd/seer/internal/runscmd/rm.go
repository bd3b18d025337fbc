package runscmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/state"
)

func newRm(a app) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "rm ID… [--yes]", Short: "Remove runs",
		Long: `Remove the folders of runs with everything in them. Seer does not remove a run that is
going on, and no folder whose name is not that of a run.`,
		Example:           "  seer runs rm run-3f20\n  seer runs ls --json | jq -r '.[] | select(.state == \"interrupted\") | .id' | xargs seer runs rm --yes",
		Args:              cli.Args(1, -1, "the ID of a run"),
		ValidArgsFunction: a.complete(-1),
		RunE: a.with(func(cmd *cobra.Command, all []*runs.Run) error {
			for _, r := range all {
				if r.State == runs.Running {
					return &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("the run %s is running; stop it before you remove it", r.ID)}
				}
			}
			if agreed, err := a.agreed(cmd, all, yes); err != nil || !agreed {
				return err
			}
			return a.remove(all)
		}),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// agreed asks whether all of this is to go.
func (a app) agreed(cmd *cobra.Command, all []*runs.Run, yes bool) (bool, error) {
	if yes {
		return true, nil
	}
	for _, r := range all {
		bytes, err := state.DiskUse(cmd.Context(), r.Dir)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(a.UI.Stderr(), "%s\n", sanitize.Line(fmt.Sprintf("%s, %s, %s, %s, in %s", r.ID, r.Experiment, r.State, term.Size(bytes), r.Dir)))
	}
	return a.ConfirmRemoval(cmd.Context())
}

// removed is a run that is gone.
type removed struct {
	ID     string `json:"id"`
	Folder string `json:"folder"`
}

func (a app) remove(all []*runs.Run) error {
	gone, errs := []removed{}, []error{}
	for _, r := range all {
		err := runs.Remove(r)
		errs = append(errs, err)
		if err == nil {
			gone = append(gone, removed{r.ID, r.Dir})
		}
	}
	return errors.Join(append(errs, a.Print(gone, func(w io.Writer) error {
		for _, g := range gone {
			fmt.Fprintln(w, sanitize.Line(g.ID))
		}
		return nil
	}))...)
}
