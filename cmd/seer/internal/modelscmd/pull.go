package modelscmd

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/sdk"
)

// pulled is a fetched model under --json.
type pulled struct {
	Name     string `json:"name"`
	Revision string `json:"revision"`
	Dir      string `json:"dir"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	License  string `json:"license"`
	Gate     string `json:"gate"`
}

// gcPercent keeps a download small: most of its memory is a plugin, which a collection passes in
// milliseconds.
const gcPercent = 25

func newPull(a app) *cobra.Command {
	var include, exclude []string
	c := &cobra.Command{
		Use:   "pull NAME[@REVISION]… [--include PATTERN]… [--exclude PATTERN]…",
		Short: "Fetch models, as seer up does",
		Long: `Fetch models of the Hugging Face Hub into the cache that the Hub's own clients use,
and verify every file. REVISION is a branch, a tag, a commit or refs/pr/1 (default: the
default branch). Files on this computer are not fetched again. After Ctrl-C, the next
pull or seer up continues the download.

PATTERN matches the path of a file in the repository; * matches anything. --include also
fetches files that Seer otherwise leaves out, such as copies of the weights in other
formats.

The result is the folder of each model, from which you can read its files.`,
		Example: "  seer models pull google/gemma-2-9b\n  seer models pull org/model@v1.0 org/adapter\n  seer models pull org/model --include '*.json' --include 'tokenizer*'",
		Args:    cli.Args(1, -1, "the name of a model"),
		RunE: a.with(func(cmd *cobra.Command, m *engine.Models, given []string) error {
			refs, err := parse(given)
			if err != nil {
				return err
			}
			debug.SetGCPercent(gcPercent)
			all, errs := []pulled{}, []error{}
			for _, ref := range refs {
				ref.Include, ref.Exclude = include, exclude
				got, err := m.Pull(cmd.Context(), ref)
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				all = append(all, ofModel(ref, got))
			}
			if len(all) > 0 {
				errs = append(errs, a.Print(all, func(w io.Writer) error {
					for _, p := range all {
						if _, err := fmt.Fprintln(w, p.Dir); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			return errors.Join(errs...)
		}),
	}
	c.Flags().StringArrayVar(&include, "include", nil, "fetch only files that match this `pattern`; may be repeated")
	c.Flags().StringArrayVar(&exclude, "exclude", nil, "leave out files that match this `pattern`; may be repeated")
	return c
}

func ofModel(ref sdk.ModelRef, got fetch.Model) pulled {
	return pulled{
		Name: models.Name(ref.Source, ref.Name), Revision: got.Revision, Dir: got.Dir,
		Files: len(got.Files), Bytes: got.Bytes, License: got.License, Gate: got.Gate,
	}
}
