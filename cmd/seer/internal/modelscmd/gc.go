package modelscmd

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/sanitize"
)

const mostDays = 36500 // a century, which a time can hold

// collected is what gc has removed, under --json.
type collected struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`
}

func newGC(a app) *cobra.Command {
	var unused int
	var dryRun bool
	c := &cobra.Command{
		Use: "gc [--unused DAYS] [--dry-run]", Short: "Remove interrupted downloads and unused models",
		Long: `Remove Seer's interrupted downloads, the folders of links of sandboxes that have ended,
and models in Seer's own cache that nobody has used for 30 days. Seer keeps everything
that is in use or was used in the last hour.

Complete files in the cache of the Hugging Face Hub's clients are yours and stay. Remove
them with seer models rm.`,
		Example: "  seer models gc\n  seer models gc --dry-run",
		Args:    cli.Args(0, 0, "nothing"),
		RunE: a.with(func(cmd *cobra.Command, m *engine.Models, _ []string) error {
			if unused < 1 || unused > mostDays {
				return cli.Usagef("--unused takes a number of days from 1 to %d", mostDays)
			}
			done := a.UI.Working("gc", "looking for unused files")
			removed, err := m.GC(cmd.Context(), models.GCOptions{Unused: time.Duration(unused) * 24 * time.Hour, DryRun: dryRun})
			done()
			if len(removed) == 0 && err != nil {
				return err
			}
			gone, freed := []collected{}, int64(0)
			for _, r := range removed {
				gone, freed = append(gone, collected(r)), freed+r.Bytes
			}
			return errors.Join(err, a.Print(gone, func(w io.Writer) error { return a.collectedText(w, gone, freed, dryRun) }))
		}),
	}
	c.Flags().IntVar(&unused, "unused", 30, "remove models in Seer's own cache that nobody has used for this many `days`")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only report what would be removed")
	return c
}

func (a app) collectedText(w io.Writer, gone []collected, freed int64, dryRun bool) error {
	word, sum := "removed", "freed"
	if dryRun {
		word, sum = "would go", "would be freed:"
	}
	for _, g := range gone {
		if _, err := fmt.Fprintf(w, "%-8s %s: %s\n", word, sanitize.Line(g.Name), g.Why); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		a.UI.Tell("Nothing to remove.")
		return nil
	}
	a.UI.Tell("%s %s", sum, term.Size(freed))
	return nil
}
