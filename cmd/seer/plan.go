package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newPlan(a *app) *cobra.Command {
	var set []string
	var check engine.CheckOptions
	c := &cobra.Command{
		Use:               "plan FILE",
		Short:             "Say what an experiment would make, where and at what cost",
		Long:              "Check everything that can be checked and say what would be made, where and at\nwhat cost. Nothing is started.",
		Example:           "  seer plan seer.yaml\n  seer plan seer.yaml --json | jq .max_cost",
		Args:              args(1, 1, "the experiment FILE"),
		ValidArgsFunction: completeExperiment,
		RunE: func(cmd *cobra.Command, given []string) error {
			exp, err := a.loadExperiment(cmd.Context(), given[0], set)
			if err != nil {
				return err
			}
			e, err := a.engine()
			if err != nil {
				return err
			}
			p, err := e.Plan(cmd.Context(), exp, check)
			if err != nil {
				return err
			}
			return a.print(p, func(w io.Writer) error {
				for _, line := range p.Lines() {
					if _, err := fmt.Fprintln(w, sanitize.Line(line)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	addSet(c, &set)
	addUnguarded(c, &check)
	addTrust(c, a)
	return c
}
