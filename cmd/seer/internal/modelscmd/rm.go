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

func newRm(a app) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "rm NAME[@REVISION]… [--yes]", Short: "Remove models from this computer",
		Long: `Remove models from the cache of the Hugging Face Hub's clients and from Seer's own
cache, with all their revisions. @REVISION removes only one: a branch, a tag, or the
beginning of a commit. Files that other revisions share stay. Seer does not remove a
model that a live sandbox uses. Other programs that use the cache lose the model, too.`,
		Example: "  seer models rm org/model\n  seer models rm org/model@v1.0 --yes",
		Args:    cli.Args(1, -1, "the name of a model"), ValidArgsFunction: a.complete,
		RunE: a.with(func(cmd *cobra.Command, m *engine.Models, given []string) error {
			refs, err := parse(given)
			if err != nil {
				return err
			}
			var all []models.Removal
			for _, ref := range refs {
				found, err := m.FindRemoval(cmd.Context(), ref)
				if err != nil {
					return err
				}
				all = append(all, found...)
			}
			if agreed, err := a.agreed(cmd, all, yes); err != nil || !agreed {
				return err
			}
			return a.remove(cmd, m, all)
		}),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// agreed asks whether all of this is to go.
func (a app) agreed(cmd *cobra.Command, all []models.Removal, yes bool) (bool, error) {
	if yes {
		return true, nil
	}
	for _, r := range all {
		fmt.Fprintf(a.UI.Stderr(), "%s, %s, %s, in %s\n", r.Name, revisions(r), term.Size(sizeOf(r)), r.Dir)
	}
	return a.ConfirmRemoval(cmd.Context())
}

// sizeOf is what is removed at most: other revisions may share files.
func sizeOf(r models.Removal) (bytes int64) {
	if r.All {
		return r.Bytes
	}
	for _, revision := range r.Revisions {
		bytes += revision.Bytes
	}
	return bytes
}

func revisions(r models.Removal) string {
	var texts []string
	for _, revision := range r.Revisions {
		texts = append(texts, revisionText(revision))
	}
	if len(texts) == 0 {
		return "no revision"
	}
	return strings.Join(texts, ", ")
}

func (a app) remove(cmd *cobra.Command, m *engine.Models, all []models.Removal) error {
	gone, errs, freed := []models.Removed{}, []error{}, int64(0)
	for _, r := range all {
		removed, err := m.Remove(cmd.Context(), r)
		freed, errs = freed+removed.Bytes, append(errs, err)
		if err == nil {
			gone = append(gone, removed)
		}
	}
	errs = append(errs, a.Print(gone, func(w io.Writer) error {
		for _, r := range gone {
			if _, err := fmt.Fprintln(w, r.Name); err != nil {
				return err
			}
		}
		return nil
	}))
	a.UI.Tell("freed %s", term.Size(freed))
	return errors.Join(errs...)
}
