package runscmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/runs"
)

func newLs(a app) *cobra.Command {
	return &cobra.Command{
		Use: "ls [FOLDER…]", Aliases: []string{"list"}, Short: "List runs",
		Long: `List runs, the newest first: those in the folder runs of the working folder, and all
others that you have started on this computer. If you name folders, Seer lists only
the runs in these. A run whose program was killed is interrupted. COST is that of the
sandbox and of the agent's language model; a plus says that the price of a model is
not known.`,
		Example: "  seer runs ls\n  seer runs ls theirs/runs\n  seer runs ls --json | jq -r '.[] | select(.state == \"failed\") | .id'",
		Args:    cli.Args(0, -1, "folders"),
		RunE: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				given = a.roots()
			}
			all, failure := runs.List(given...)
			if len(all) == 0 && failure != nil {
				return failure
			}
			return errors.Join(failure, a.Print(all, func(w io.Writer) error {
				if len(all) == 0 {
					a.UI.Tell("No runs. Start one with: seer run FILE")
					return nil
				}
				return term.PrintTable(w, a.UI.Width(), []term.Column{
					{Title: "ID"}, {Title: "STATE"}, {Title: "EXPERIMENT", Drop: 1}, {Title: "AGENT", Drop: 3}, {Title: "STARTED", Drop: 2}, {Title: "TIME", Drop: 4}, {Title: "COST", Drop: 2}, {Title: "FILES", Drop: 5},
				}, rows(all))
			}))
		},
	}
}

func rows(all []runs.Summary) [][]string {
	ids := shortIDs(all)
	out := make([][]string, len(all))
	for i, s := range all {
		out[i] = []string{
			ids[i], string(s.State), cmp.Or(s.Experiment, "-"), agentText(s), ago(s.Started), span(s.Seconds),
			dollars(s.Cost+s.ModelCost, s.Unpriced), fmt.Sprint(s.Files),
		}
	}
	return out
}

// span is a duration in seconds, which a stranger's log may have made too long for a time.Duration.
func span(seconds float64) string {
	const most = 100 * 365 * 24 * 3600
	return term.Span(time.Duration(min(max(seconds, 0), most) * float64(time.Second)))
}

// shortest is how many characters of an ID are shown where they are enough: run- and six digits.
const shortest = 10

// shortIDs are beginnings of the IDs that mean one run of the list each.
func shortIDs(all []runs.Summary) []string {
	length := shortest
	for length < len("run-0123456789abcdef") && doubled(all, length) {
		length++
	}
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = s.ID[:min(len(s.ID), length)]
		if !strings.HasPrefix(s.ID, "run-") {
			ids[i] = s.ID // not of Seer
		}
	}
	return ids
}

func doubled(all []runs.Summary, length int) bool {
	seen := map[string]string{}
	for _, s := range all {
		short := s.ID[:min(len(s.ID), length)]
		if other, ok := seen[short]; ok && other != s.ID {
			return true
		}
		seen[short] = s.ID
	}
	return false
}
