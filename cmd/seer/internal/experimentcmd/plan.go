package experimentcmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newPlan(a app) *cobra.Command {
	var set []string
	var check engine.CheckOptions
	c := &cobra.Command{
		Use:               "plan FILE",
		Short:             "Show what an experiment would start, where and at what cost",
		Long:              "Check everything that can be checked without a machine, and show what the experiment\nwould start, where and at what cost. Nothing is started.",
		Example:           "  seer plan seer.yaml\n  seer plan seer.yaml --json | jq .max_cost\n  seer plan seer.yaml --context 32768 --batch 8",
		Args:              cli.Args(1, 1, "the experiment FILE"),
		ValidArgsFunction: cli.CompleteExperiment,
		RunE: a.WithExperiment(&set, func(cmd *cobra.Command, e *engine.Engine, exp *experiment.Experiment, _ []string) error {
			if check.Context < 1 || check.Batch < 1 {
				return cli.Usagef("--context %d and --batch %d must both be at least 1", check.Context, check.Batch)
			}
			p, err := e.Plan(cmd.Context(), exp, check)
			if err != nil {
				return err
			}
			for i, warning := range p.Warnings {
				p.Warnings[i] = cli.AsTyped(warning)
			}
			return a.Print(p, func(w io.Writer) error {
				for _, line := range p.Lines() {
					if _, err := fmt.Fprintln(w, sanitize.Line(line)); err != nil {
						return err
					}
				}
				for _, hint := range cli.Hints(p.Remedies) {
					if _, err := fmt.Fprintf(w, "%-11s %s\n", "hint", hint); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
	cli.AddSet(c, &set)
	cli.AddUnguarded(c, &check)
	c.Flags().BoolVar(&check.Offline, "offline", false, "use no network, and list the checks that this leaves out")
	c.Flags().Int64Var(&check.Context, "context", modelinfo.Tokens, "context for which the memory of models is computed, in `TOKENS`")
	c.Flags().Int64Var(&check.Batch, "batch", modelinfo.Batch, "number of sequences at once for which the memory of models is computed")
	a.AddTrust(c)
	return c
}
