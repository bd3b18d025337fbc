package experimentcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
)

func newInit(a app) *cobra.Command {
	var mode string
	kinds := experiment.TemplateKinds()
	c := &cobra.Command{
		Use:   "init [DIR] [--mode scoped|notebook|cli]",
		Short: "Write a small commented experiment to start from",
		Long: `Write an experiment and a scripted agent into DIR (default: here). It runs as it is.
The mode says how the agent uses the sandbox: "scoped" lets it call the functions of an
interface file and nothing else, "notebook" gives it a Jupyter notebook, and "cli" gives
it commands, files and Python. Seer overwrites no existing file.`,
		Example: "  seer init my-experiment\n  seer run my-experiment/seer.yaml\n  seer init lab --mode notebook",
		Args:    cli.Args(0, 1, "at most a folder"),
		RunE: func(_ *cobra.Command, given []string) error {
			dir := "."
			if len(given) == 1 {
				dir = given[0]
			}
			if dir == "" {
				return cli.Usagef("the name of the folder is empty; . is the folder in which you are")
			}
			return a.init(dir, mode)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	c.Flags().StringVar(&mode, "mode", kinds[0], "how the agent uses the sandbox: "+strings.Join(kinds, ", "))
	_ = c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a app) init(dir, mode string) error {
	files, err := experiment.Template(mode)
	if err != nil {
		return cli.Usagef("--mode: %w", err)
	}
	names := slices.Sorted(maps.Keys(files))
	if taken := existing(dir, names); len(taken) > 0 {
		return &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("%s already has %s, and nothing was written; choose another folder: seer init DIR", dir, strings.Join(taken, ", "))}
	}
	var written []string
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := writeNew(path, files[name]); err != nil {
			return err
		}
		written = append(written, path)
	}
	start := filepath.Join(dir, "seer.yaml")
	return a.Print(map[string]any{"files": written, "experiment": start}, func(w io.Writer) error {
		for _, path := range written {
			fmt.Fprintln(w, path)
		}
		a.UI.Tell("Now: seer run %s", term.ShellQuoted(start))
		return nil
	})
}

func existing(dir string, names []string) []string {
	var taken []string
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			taken = append(taken, name)
		}
	}
	return taken
}

// writeNew refuses to overwrite also what appeared just now.
func writeNew(path, text string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if errors.Is(err, syscall.ENOTDIR) {
		return &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("%s cannot be a folder: a file is there; choose another folder: seer init DIR", filepath.Dir(path))}
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &engine.Error{Kind: engine.KindConflict, Err: err}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
