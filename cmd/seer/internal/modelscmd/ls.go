package modelscmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/models"
)

func newLs(a app) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the models on this computer",
		Long: `List the models on this computer: those in the cache of the Hugging Face Hub's clients
(hub), including those of other programs, and those in Seer's own cache (own). Each
revision and each interrupted download has a line.`,
		Example: "  seer models ls\n  seer models ls --json | jq -r '.[].name'",
		Args:    cli.Args(0, 0, "nothing"),
		RunE: a.with(func(cmd *cobra.Command, m *engine.Models, _ []string) error {
			all, err := m.List(cmd.Context())
			if len(all) == 0 && err != nil {
				return err
			}
			if all == nil {
				all = []models.Model{}
			}
			return errors.Join(err, a.Print(all, func(w io.Writer) error {
				if len(all) == 0 {
					a.UI.Tell("No models. Fetch one with: seer models pull NAME")
					return nil
				}
				var rows [][]string
				for _, m := range all {
					rows = append(rows, rowsOf(m)...)
				}
				return term.PrintTable(w, a.UI.Width(), []term.Column{
					{Title: "NAME"}, {Title: "REVISION", Drop: 1}, {Title: "FILES", Drop: 3}, {Title: "SIZE"}, {Title: "USED", Drop: 4}, {Title: "IN", Drop: 5}, {Title: "NOTE", Drop: 2},
				}, rows)
			}))
		}),
	}
}

// rowsOf are the lines of a model.
func rowsOf(m models.Model) (rows [][]string) {
	for _, r := range m.Revisions {
		var notes []string
		if n := len(r.Broken); n > 0 {
			notes = append(notes, term.Plural(n, "file")+" missing")
		}
		if len(r.Sandboxes) > 0 {
			notes = append(notes, "used by "+strings.Join(r.Sandboxes, ", "))
		}
		rows = append(rows, []string{m.Name, revisionText(r), fmt.Sprint(r.Files), term.Size(r.Bytes), term.Clock(r.Used), m.Where, strings.Join(notes, "; ")})
	}
	var bytes int64
	for _, i := range m.Incomplete {
		bytes += i.Bytes
	}
	if n := len(m.Incomplete); n > 0 {
		rows = append(rows, []string{m.Name, "-", fmt.Sprint(n), term.Size(bytes), "-", m.Where, "not complete"})
	}
	if len(rows) == 0 {
		rows = append(rows, []string{m.Name, "-", "0", term.Size(m.Bytes), term.Clock(m.Used), m.Where, "no files"})
	}
	return rows
}

// revisionText is a commit, short, with the branches and tags that lead to it.
func revisionText(r models.Revision) string {
	text := r.Revision
	if len(text) == 40 {
		text = text[:12]
	}
	if len(r.Refs) > 0 {
		text += " (" + strings.Join(r.Refs, ", ") + ")"
	}
	return text
}
