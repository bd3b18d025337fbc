package modelscmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/sdk"
)

func newVerify(a app) *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME…]", Short: "Compare all files of models with the Hub's hashes",
		Long: `Read all files of models of the Hugging Face Hub on this computer, of every revision,
and compare them with the hashes of the Hub. Without a name, verify all models. This
command changes nothing; the next seer models pull fetches a wrong file again. If a file
is wrong or missing, the exit code is 3.`,
		Example: "  seer models verify\n  seer models verify google/gemma-2-9b --json",
		Args:    cli.Args(0, -1, "the names of models"), ValidArgsFunction: a.complete,
		RunE: a.with(func(cmd *cobra.Command, m *engine.Models, given []string) error {
			refs, err := parse(given)
			if err == nil && len(given) == 0 {
				refs, err = allOfHub(cmd, m)
			}
			if err != nil {
				return err
			}
			all, errs, damaged := []models.Verified{}, []error{}, 0
			for _, ref := range refs {
				a.UI.Show("model", "verifying "+ref.Name)
				found, err := m.Verify(cmd.Context(), ref)
				a.UI.Hide()
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				if all = append(all, found); !found.Intact() {
					damaged++
				}
			}
			if len(all) > 0 || len(errs) == 0 {
				errs = append(errs, a.Print(all, func(w io.Writer) error { return verifiedText(w, all) }))
			}
			if damaged > 0 {
				errs = append(errs, &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("%s damaged; to fetch the wrong and missing files again: seer models pull", isOrAre(damaged))})
			}
			return errors.Join(errs...)
		}),
	}
}

func isOrAre(n int) string {
	if n == 1 {
		return "1 model is"
	}
	return term.Plural(n, "model") + " are"
}

// allOfHub are the models in the cache of the Hub's clients.
func allOfHub(cmd *cobra.Command, m *engine.Models) ([]sdk.ModelRef, error) {
	all, err := m.List(cmd.Context())
	var refs []sdk.ModelRef
	for _, model := range all {
		if model.Where == models.InHub {
			refs = append(refs, sdk.ModelRef{Source: model.Source, Name: model.Name})
		}
	}
	return refs, err
}

func verifiedText(w io.Writer, all []models.Verified) error {
	for _, v := range all {
		verdict := "intact"
		if !v.Intact() {
			verdict = "DAMAGED"
		}
		if _, err := fmt.Fprintf(w, "%-8s %s: %s, %s\n", verdict, v.Name, term.Plural(v.Files, "file"), term.Size(v.Bytes)); err != nil {
			return err
		}
		for _, part := range []struct {
			what  string
			paths []string
		}{{"wrong", v.Wrong}, {"missing", v.Missing}, {"unknown", v.Unknown}} {
			for _, path := range part.paths {
				if _, err := fmt.Fprintf(w, "  %-8s %s\n", part.what, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
