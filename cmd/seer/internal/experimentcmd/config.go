package experimentcmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
)

func newConfig(a app) *cobra.Command {
	return cli.Family("config", "Check experiment files and print their schema", newConfigCheck(a), newConfigSchema(a))
}

func newConfigCheck(a app) *cobra.Command {
	var set []string
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Find every mistake in an experiment",
		Long: `Check an experiment for unknown keys, wrong types, missing files, models and secrets,
and isolation that this computer lacks. Seer reports all mistakes at once, with
file and line. This command starts nothing and uses no network; seer plan also asks
the providers and the repositories.`,
		Example:           "  seer config check seer.yaml",
		Args:              cli.Args(1, 1, "the experiment FILE"),
		ValidArgsFunction: cli.CompleteExperiment,
		RunE: a.WithExperiment(&set, func(cmd *cobra.Command, e *engine.Engine, exp *experiment.Experiment, given []string) error {
			report, err := e.Check(cmd.Context(), exp, engine.CheckOptions{Unguarded: true, Offline: true})
			if err != nil {
				return err
			}
			if err := report.Err(); err != nil {
				return err
			}
			return a.checked(given[0], report.Warnings())
		}),
	}
	cli.AddSet(c, &set)
	return c
}

func (a app) checked(file string, warnings []preflight.Finding) error {
	lines := []string{}
	for _, w := range warnings {
		lines = append(lines, cli.Text(&w.Error))
	}
	return a.Print(map[string]any{"ok": true, "file": file, "warnings": lines}, func(w io.Writer) error {
		for _, line := range lines {
			a.UI.Note("warning", line)
		}
		_, err := fmt.Fprintf(w, "%s: ok\n", file)
		return err
	})
}

func newConfigSchema(a app) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of the experiment file",
		Long:    "Print the JSON Schema of the experiment file, for editors. seer init writes it beside\nthe experiment and refers the editor to it.",
		Example: "  seer config schema > experiment.schema.json",
		Args:    cli.Args(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			return a.Document(experiment.Schema())
		},
	}
}
