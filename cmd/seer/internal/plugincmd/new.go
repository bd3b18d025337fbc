package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/scaffold"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/schema"
)

func newPluginNew(a app) *cobra.Command {
	var lang string
	var o scaffold.Options
	c := &cobra.Command{
		Use:   "new provider|fetcher|expose NAME",
		Short: "Write a plugin folder that builds and passes its tests",
		Long: `Write a folder with a small working plugin: code, manifest, tests and, for a provider,
a simulator of the backend. The folder contains the SDK, so the plugin builds without a
network. NAME selects the plugin in an experiment: in provider:, in expose_as:, or before
the colon of a model.`,
		Example: `  seer plugin new provider tiny && cd provider-tiny
  seer plugin test
  seer plugin new expose notes --lang assemblyscript`,
		Args:              cli.Args(2, 2, "the kind of plugin and its name"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"provider", "fetcher", "expose"}, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.Kind, o.Name, o.Lang = sdk.Kind(given[0]), given[1], scaffold.Lang(lang)
			if o.Kind.Exports() == nil {
				return cli.Usagef("%q is not a kind of plugin; use provider, fetcher or expose", given[0])
			}
			if o.Lang != scaffold.Go && o.Lang != scaffold.AssemblyScript {
				return cli.Usagef("--lang %q is not known; there are go and assemblyscript", lang)
			}
			return a.pluginNew(cmd.Context(), o)
		},
	}
	c.Flags().StringVar(&lang, "lang", "go", "`language`: go or assemblyscript")
	c.Flags().StringVar(&o.Dir, "dir", "", "the new `folder` (default: the plugin's id, here)")
	_ = c.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions([]string{"go", "assemblyscript"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a app) pluginNew(ctx context.Context, o scaffold.Options) error {
	made, err := scaffold.New(ctx, o)
	if err != nil {
		return authorError(err)
	}
	return a.Print(made, func(w io.Writer) error {
		for _, file := range made.Files {
			fmt.Fprintln(w, filepath.Join(made.Dir, filepath.FromSlash(file)))
		}
		a.UI.Tell("Now: cd %s && seer plugin test", term.ShellQuoted(made.Dir))
		return nil
	})
}

func newPluginBuild(a app) *cobra.Command {
	var o scaffold.BuildOptions
	c := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build a plugin from its source folder",
		Long: `Build the plugin in DIR (default: here) to its two files, ID.wasm and ID.yaml. Seer
checks the manifest first. The module contains the manifest and its requirements on the
host. The same sources give the same bytes.`,
		Example: "  seer plugin build\n  seer plugin build ./provider-tiny --out ~/plugins",
		Args:    cli.Args(0, 1, "at most a folder"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.Dir = folderArg(given)
			built, err := a.pluginBuild(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.Print(built, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, built.Wasm)
				return err
			})
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	c.Flags().StringVar(&o.Out, "out", "", "`folder` for the two files (default: dist in DIR)")
	return c
}

func folderArg(given []string) string {
	if len(given) == 1 {
		return given[0]
	}
	return "."
}

// pluginBuild builds, with the compiler's own output on stderr.
func (a app) pluginBuild(ctx context.Context, o scaffold.BuildOptions) (scaffold.Result, error) {
	if !a.JSON {
		o.Output = a.UI.Stderr()
	}
	built, err := scaffold.Build(ctx, o)
	if err != nil {
		return built, authorError(err)
	}
	a.UI.Tell("Built %s %s: %s in %s", built.Manifest.ID, built.Manifest.Version, term.BinarySize(built.Size), built.Took.Round(10*time.Millisecond))
	a.tellRemoved(built)
	return built, nil
}

// tellRemoved says that what was signed or tried was another build.
func (a app) tellRemoved(built scaffold.Result) {
	for _, file := range built.Removed {
		a.UI.Tell("Removed %s: it was of an earlier build", file)
	}
}

// authorError gives what goes wrong in an author's folder its kind.
func authorError(err error) error {
	var tool *scaffold.ToolchainError
	var compile *scaffold.CompileError
	var own *engine.Error
	switch {
	case err == nil, errors.As(err, &own), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &tool):
		return &engine.Error{Kind: engine.KindUnsupported, Err: err}
	case errors.As(err, &compile):
		return &engine.Error{Kind: engine.KindPlugin, Err: err}
	case errors.Is(err, os.ErrNotExist):
		return &engine.Error{Kind: engine.KindNotFound, Err: err}
	case errors.Is(err, os.ErrExist):
		return &engine.Error{Kind: engine.KindConflict, Err: err}
	case engine.KindOf(err) != engine.KindInternal: // a full disk, say
		return err
	}
	return &engine.Error{Kind: engine.KindConfig, Err: err}
}

func newPluginSchema(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema manifest|contract",
		Short: "Print the JSON Schema of plugin.yaml or of the contract",
		Long: `Print a JSON Schema (2020-12). The schema of the manifest is for editors. The schema of
the contract has every type that crosses the boundary, and for each export NAME the
definitions NAME.input and NAME.result.`,
		Example:           "  seer plugin schema manifest > plugin.schema.json",
		Args:              cli.Args(1, 1, "manifest or contract"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"manifest", "contract"}, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, given []string) error {
			documents := map[string]func() []byte{"manifest": schema.Manifest, "contract": schema.Contract}
			document, ok := documents[given[0]]
			if !ok {
				return cli.Usagef("there is no schema %q; use manifest or contract", given[0])
			}
			return a.Document(document())
		},
	}
}
