package sandboxcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/sdk"
)

func newLs(a app) *cobra.Command {
	var refresh, all bool
	c := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List sandboxes",
		Long: `List the live sandboxes, and with --all also those that have ended recently. Seer
checks the sandboxes of this computer. It shows those of other providers as they were
last seen, unless --refresh asks the providers. If a host does not answer then, its
sandboxes are listed as unreachable, and the exit code is 6. A machine that only builds a layer or
system for other sandboxes is marked (builds), and ends by itself.`,
		Example: "  seer ls\n  seer ls --json | jq -r '.[].id'",
		Args:    cli.Args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.ls(cmd.Context(), refresh, all) },
	}
	c.Flags().BoolVar(&refresh, "refresh", false, "ask every provider for the state of its sandboxes")
	c.Flags().BoolVarP(&all, "all", "a", false, "also sandboxes that have ended")
	return c
}

func (a app) ls(ctx context.Context, refresh, all bool) error {
	e, err := a.Engine()
	if err != nil {
		return err
	}
	// Where one provider cannot be asked, the rest is listed nevertheless.
	infos, failure := e.Sandboxes(ctx, refresh)
	shown := []engine.Info{}
	for _, i := range infos {
		if all || i.State.Live() {
			shown = append(shown, i)
		}
	}
	err = a.Print(shown, func(w io.Writer) error {
		if len(shown) == 0 {
			a.UI.Tell("No sandboxes%s.", endedNote(len(infos)))
			return nil
		}
		return term.PrintTable(w, a.UI.Width(), lsColumns(), lsRows(shown))
	})
	if failure == nil && refresh {
		failure = unreachable(shown)
	}
	if failure != nil {
		return failure
	}
	return err
}

// unreachable is the error of sandboxes that could not be asked, such as those on a host that does not
// answer, each reason once.
func unreachable(infos []engine.Info) error {
	var reasons []string
	for _, i := range infos {
		if i.State == sdk.Unreachable && !slices.Contains(reasons, i.Message) {
			reasons = append(reasons, i.Message)
		}
	}
	if reasons == nil {
		return nil
	}
	return &engine.Error{Kind: engine.KindProvider, Err: fmt.Errorf("some sandboxes cannot be reached, and are listed as they were last seen: %s", strings.Join(reasons, "; "))}
}

func endedNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d ended lately: seer ls --all", n)
}

func lsColumns() []term.Column {
	return []term.Column{
		{Title: "ID"}, {Title: "NAME"}, {Title: "STATE"}, {Title: "PROVIDER", Drop: 2}, {Title: "ISOLATION", Drop: 5}, {Title: "GPU", Drop: 4}, {Title: "AGE", Drop: 3}, {Title: "ENDS", Drop: 1}, {Title: "COST", Drop: 2}, {Title: "SERVES", Drop: 6},
	}
}

// cost is what a sandbox has cost, and costs.
func cost(i engine.Info) string {
	if i.CostPerHour == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.2f (%.2f/h)", i.Cost, i.CostPerHour)
}

func gpus(i engine.Info) string {
	name := i.GPU
	if i.GPUCount > 1 {
		name = fmt.Sprintf("%d×%s", i.GPUCount, i.GPU)
	}
	if i.GPUShare != "" {
		name += " " + i.GPUShare
	}
	return name
}

// nameOf is a sandbox's name; in brackets that it is none, but builds for others.
func nameOf(i engine.Info) string {
	if i.Builds != "" {
		return "(builds)"
	}
	return cmp.Or(i.Name, "-")
}

func lsRows(infos []engine.Info) [][]string {
	rows := make([][]string, len(infos))
	for n, i := range infos {
		rows[n] = []string{
			i.ID, nameOf(i), string(i.State), i.Provider, cmp.Or(i.Isolation, "-"), cmp.Or(gpus(i), "-"), term.Span(time.Since(i.Created)), endText(i),
			cost(i),
			cmp.Or(strings.Join(cli.ServiceNames(i), ","), "-"),
		}
	}
	return rows
}

// endText says how long a live sandbox still has.
func endText(i engine.Info) string {
	if !i.State.Live() {
		return "-"
	}
	if i.Lease.Overdue {
		return "overdue"
	}
	left := time.Until(i.Lease.Ends)
	if left <= 0 {
		return "now"
	}
	return "in " + term.Span(left)
}
