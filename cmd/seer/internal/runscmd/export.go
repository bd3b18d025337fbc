package runscmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/state"
)

func newExport(a app) *cobra.Command {
	var html, inspect bool
	var out string
	c := &cobra.Command{
		Use: "export ID --html|--inspect -o FILE", Short: "Write a run as a page or as an Inspect log",
		Long: `Write a run as one HTML page that needs nothing else, or as a log that Inspect's own
tools open (inspect view, inspect_ai.log). Seer replaces FILE as a whole. The FILE - is
standard output.`,
		Example:           "  seer runs export run-3f20 --html -o report.html\n  seer runs export latest --inspect -o probe.eval && inspect view --log-dir .",
		Args:              cli.Args(1, 1, "the ID of a run"),
		ValidArgsFunction: a.complete(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			if html == inspect {
				return cli.Usagef("%s needs a format, --html or --inspect: %s", cmd.CommandPath(), cmd.UseLine())
			}
			if out == "" {
				return cli.Usagef("%s needs -o with a file: %s", cmd.CommandPath(), cmd.UseLine())
			}
			r, err := a.find(given[0])
			if err != nil {
				return err
			}
			write := a.writers.HTML
			if inspect {
				write = a.writers.Inspect
			}
			return a.export(r, write, out)
		},
	}
	c.Flags().BoolVar(&html, "html", false, "as one HTML page")
	c.Flags().BoolVar(&inspect, "inspect", false, "as an .eval log of Inspect")
	c.Flags().StringVarP(&out, "out", "o", "", "`FILE` to write")
	return c
}

// exported is a file that was written.
type exported struct {
	ID   string `json:"id"`
	Path string `json:"path"`
}

func (a app) export(r *runs.Run, write func(io.Writer, *runs.Run) error, out string) error {
	if write == nil {
		return &engine.Error{Kind: engine.KindUnsupported, Err: errors.New("this program writes no runs in that format; use one that is built with it")}
	}
	if out == "-" {
		return writeTo(a.UI.Out, r, write)
	}
	path, err := filepath.Abs(out)
	if err == nil {
		err = writeFile(path, r, write)
	}
	if err != nil {
		return err
	}
	return a.Print(exported{r.ID, path}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, out)
		return err
	})
}

func writeTo(w io.Writer, r *runs.Run, write func(io.Writer, *runs.Run) error) error {
	b := bufio.NewWriterSize(w, 64<<10)
	return errors.Join(write(b, r), b.Flush())
}

// writeFile replaces a file as a whole.
func writeFile(path string, r *runs.Run, write func(io.Writer, *runs.Run) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("%s is there and no file, so none takes its place; standard output is called -", path)}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".seer-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = errors.Join(writeTo(f, r, write), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		return fmt.Errorf("write %s: %w", path, state.NoSpace(path, err))
	}
	return nil
}

func newOpen(a app) *cobra.Command {
	var show bool
	c := &cobra.Command{
		Use: "open [ID] [--print]", Short: "Open the report of a run in the browser",
		Long: `Write the report of a run, one HTML page, into its folder as report.html and open it in
the browser. Without ID, it is the newest run. If the folder cannot be written, the page is in Seer's cache. Seer prints
the page's path with --print, or if there is no browser.`,
		Example:           "  seer runs open run-3f20\n  seer runs open --print",
		Args:              cli.Args(0, 1, "the ID of a run"),
		ValidArgsFunction: a.complete(1),
		RunE: a.with(func(cmd *cobra.Command, all []*runs.Run) error {
			path, err := a.report(all[0])
			if err != nil {
				return err
			}
			opened := false
			if !show {
				err := a.browse(cmd, path)
				if opened = err == nil; !opened {
					a.UI.Note("warning", fmt.Sprintf("no browser could be opened: %v; open the page yourself", err))
				}
			}
			return a.Print(exported{all[0].ID, path}, func(w io.Writer) error {
				if opened {
					path = "opened " + path
				}
				_, err := fmt.Fprintln(w, path)
				return err
			})
		}),
	}
	c.Flags().BoolVar(&show, "print", false, "print the path of the page instead of opening it")
	return c
}

func (a app) browse(cmd *cobra.Command, path string) error {
	program, err := cli.Browser()
	if err != nil {
		return err
	}
	return cli.Browse(cmd.Context(), program, (&url.URL{Scheme: "file", Path: path}).String())
}

// report writes the report of a run, which is made anew each time: it is computed from the log.
func (a app) report(r *runs.Run) (string, error) {
	if a.writers.HTML == nil {
		return "", a.export(r, nil, "")
	}
	path := filepath.Join(r.Dir, runs.ReportName)
	err := writeFile(path, r, a.writers.HTML)
	if kind := engine.KindOf(err); err == nil || kind != engine.KindConfig && kind != engine.KindNoSpace {
		return path, err
	}
	s, folderErr := a.folders()
	if folderErr != nil {
		return "", errors.Join(err, folderErr)
	}
	dir, folderErr := s.Cache("reports")
	if folderErr != nil {
		return "", errors.Join(err, folderErr)
	}
	path = filepath.Join(dir, filepath.Base(r.Dir)+".html")
	return path, writeFile(path, r, a.writers.HTML)
}
