package plugincmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newPluginAudit(a app) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "audit ID",
		Short: "Show the requests that a plugin made",
		Long: `Show how often and when each permission of a plugin was last used, which permissions
were never used, and which requests were refused. Seer records every request, without
its query, bodies and credentials.`,
		Example: `  seer plugin audit provider-tiny
  seer plugin audit provider-tiny --follow`,
		Args:              cli.Args(1, 1, "the ID of a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: a.withStore(func(cmd *cobra.Command, s *store.Store, given []string) error {
			if follow {
				return a.followAudit(cmd.Context(), s, given[0])
			}
			return a.audit(cmd.Context(), s, given[0])
		}),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show requests as they happen, until Ctrl-C")
	return c
}

func (a app) audit(ctx context.Context, s *store.Store, id string) error {
	p, missing := a.findPlugin(ctx, id)
	report, err := s.Report(ctx, id, p.Access)
	if err != nil {
		return pluginError(err)
	}
	// What a plugin did is told after it is gone, too.
	if missing != nil && len(report.Used)+len(report.Refused) == 0 {
		return missing
	}
	return a.Print(report, func(w io.Writer) error {
		var rows [][]string
		for _, u := range report.Used {
			rows = append(rows, []string{u.Permission, fmt.Sprint(u.Count), fmt.Sprint(u.Failed), term.Clock(u.Last)})
		}
		for _, line := range report.Never {
			rows = append(rows, []string{line, "never", "-", "-"})
		}
		for _, line := range report.Unseen {
			rows = append(rows, []string{line, "not counted", "-", "-"})
		}
		if len(rows)+len(report.Refused) == 0 {
			a.UI.Tell("%s asks for nothing, and nothing was refused.", id)
			return nil
		}
		if len(rows) > 0 {
			columns := []term.Column{{Title: "PERMISSION"}, {Title: "USED"}, {Title: "NO ANSWER", Drop: 2}, {Title: "LAST", Drop: 1}}
			if err := term.PrintTable(w, a.UI.Width(), columns, rows); err != nil {
				return err
			}
		}
		return refusalsText(w, report.Refused, len(rows) > 0)
	})
}

// refusalsText is a list and no table: why something was refused is long.
func refusalsText(w io.Writer, refused []store.Refusal, below bool) error {
	if below && len(refused) > 0 {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	for _, r := range refused {
		if _, err := fmt.Fprintf(w, "REFUSED %s, last %s: %s: %s\n", term.Plural(r.Count, "time"), term.Clock(r.Last), sanitize.Line(r.Request), sanitize.Line(r.Why)); err != nil {
			return err
		}
	}
	return nil
}

func (a app) followAudit(ctx context.Context, s *store.Store, id string) error {
	return s.Follow(ctx, id, func(e store.Event) error {
		if a.JSON {
			return a.PrintJSON(e)
		}
		what := fmt.Sprintf("%s %s%s", e.Method, e.Destination, e.Path)
		end := fmt.Sprint(e.Status)
		if e.Refused {
			end = "REFUSED: " + e.Error
		} else if e.Error != "" {
			end = e.Error
		}
		_, err := fmt.Fprintf(a.UI.Stdout(), "%s %s %s %.3fs\n", term.Clock(e.Time), sanitize.Text(what), sanitize.Text(end), e.Seconds)
		return err
	})
}
