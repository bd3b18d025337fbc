package modelscmd

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
)

func newDu(a app) *cobra.Command {
	return &cobra.Command{
		Use: "du", Short: "Show how much disk models take",
		Long: `Show how much disk the models on this computer take, largest first, and the totals of
the two caches. A file with several names counts once: the folders of sandboxes contain
links.`,
		Example: "  seer models du\n  seer models du --json | jq .bytes",
		Args:    cli.Args(0, 0, "nothing"),
		RunE: a.with(func(cmd *cobra.Command, m *engine.Models, _ []string) error {
			done := a.UI.Working("model", "measuring")
			u, err := m.Usage(cmd.Context())
			done()
			if u.Models == nil {
				return err
			}
			return errors.Join(err, a.Print(u, func(w io.Writer) error {
				var rows [][]string
				for _, m := range u.Models {
					rows = append(rows, []string{term.Size(m.Bytes), m.Name, m.Where})
				}
				rows = append(rows, []string{term.Size(u.Hub.Bytes), u.Hub.Dir, "hub"}, []string{term.Size(u.Own.Bytes), u.Own.Dir, "own"})
				if u.Incomplete > 0 {
					rows = append(rows, []string{term.Size(u.Incomplete), "not complete, part of the above", ""})
				}
				rows = append(rows, []string{term.Size(u.Bytes), "together", ""})
				return term.PrintTable(w, a.UI.Width(), []term.Column{{Title: "SIZE"}, {Title: "NAME"}, {Title: "IN", Drop: 1}}, rows)
			}))
		}),
	}
}
