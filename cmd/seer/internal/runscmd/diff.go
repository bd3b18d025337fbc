package runscmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newDiff(a app) *cobra.Command {
	return &cobra.Command{
		Use: "diff A B", Short: "Compare two runs",
		Long: `Compare two runs: the version and digest of Seer, the experiment as resolved, the
prompt, plugins, models, the code of interfaces, packages, the agent, the numbers that
calls returned, and how often each function was called. Seer compares numbers between
calls of the same function with the same arguments. Times and costs are left out. The
exit code is 0 whether or not the runs differ.`,
		Example:           "  seer runs diff run-3f20 run-91ab\n  seer runs diff run-3f20 latest --json | jq '.changes[] | select(.part == \"results\")'",
		Args:              cli.Args(2, 2, "two runs"),
		ValidArgsFunction: a.complete(2),
		RunE: a.with(func(_ *cobra.Command, all []*runs.Run) error {
			d, err := runs.Diff(all[0], all[1])
			if err != nil {
				return err
			}
			return a.Print(d, func(w io.Writer) error { return diffText(w, d) })
		}),
	}
}

func diffText(w io.Writer, d runs.Difference) error {
	for _, side := range []struct {
		name string
		s    runs.Summary
	}{{"a", d.A}, {"b", d.B}} {
		fmt.Fprintf(w, "%s  %s\n", side.name, sanitize.Line(fmt.Sprintf("%s  %s, %s, %s", side.s.ID, side.s.Experiment, side.s.State, term.Clock(side.s.Started))))
	}
	if len(d.Same) > 0 {
		fmt.Fprintf(w, "same: %s\n", strings.Join(d.Same, ", "))
	}
	part := ""
	for i, c := range d.Changes {
		if c.Part != part {
			part = c.Part
			fmt.Fprintf(w, "\n%s\n", part)
		}
		changeText(w, c)
		if last := i+1 == len(d.Changes) || d.Changes[i+1].Part != part; last && slices.Contains(d.More, part) {
			fmt.Fprintln(w, "  …")
		}
	}
	return nil
}

func changeText(w io.Writer, c runs.Change) {
	if c.Text != "" {
		for line := range strings.Lines(c.Text) {
			fmt.Fprintf(w, "  %s\n", sanitize.Line(strings.TrimRight(line, "\n")))
		}
		return
	}
	fmt.Fprintf(w, "  %s: %s → %s\n", sanitize.Line(c.Name), valueText(c.A), valueText(c.B))
}

// mostValue is how many characters of a value are shown.
const mostValue = 120

func valueText(v string) string {
	if v == "" {
		return "-"
	}
	return sanitize.Line(cut(v, mostValue))
}

// cut is a text of at most so many characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	r := []rune(text[:min(len(text), 4*most)])
	if len(r) > most {
		r = append(r[:most-1], '…')
	} else {
		r = append(r, '…')
	}
	return string(r)
}
