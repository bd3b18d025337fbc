package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/notebook"
)

func newOpen(a *app) *cobra.Command {
	var show bool
	c := &cobra.Command{
		Use:   "open ID jupyter|code [--print]",
		Short: "Open a sandbox's Jupyter or VS Code in the browser",
		Long: `Open Jupyter (execution_mode: notebook) or VS Code (debug: true) of a sandbox in the
browser. VS Code asks for a password, which is printed. Jupyter's token is in its URL,
which is printed with --print, or where there is no browser: whoever has it can do
everything in the sandbox. On this computer the host of the URL is a name under
localhost, so that pages of sandboxes share no cookies; a browser that does not know
such names (Safari) takes 127.0.0.1 in its place. Where the provider leads to no such port, use seer forward.`,
		Example:           "  seer open lab jupyter\n  seer open lab code --print",
		Args:              cobra.MatchAll(args(2, 2, "a sandbox, and jupyter or code"), openWhat),
		ValidArgsFunction: a.completeSandboxThenPage,
		RunE: func(cmd *cobra.Command, given []string) error {
			s, err := a.open(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer s.Close()
			page, err := pageOf(cmd.Context(), s, given[1])
			if err != nil {
				return err
			}
			opened := false
			if !show {
				err := browse(cmd.Context(), page.URL)
				if opened = err == nil; !opened {
					a.ui.note("warning", fmt.Sprintf("no browser could be opened: %v; open the URL yourself, and keep it to yourself", err))
				}
			}
			return a.print(page, func(w io.Writer) error {
				if opened {
					fmt.Fprintf(w, "opened %s of %s\n", pageName(given[1]), given[0])
				} else {
					fmt.Fprintln(w, page.URL)
				}
				if page.Password != "" {
					fmt.Fprintf(w, "password: %s\n", page.Password)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&show, "print", false, "only print it, with its token")
	return c
}

// pageName is what a page is called.
func pageName(what string) string {
	if what == "jupyter" {
		return "Jupyter"
	}
	return "VS Code"
}

func openWhat(_ *cobra.Command, given []string) error {
	if given[1] != "jupyter" && given[1] != "code" {
		return usagef("%q cannot be opened; write jupyter or code", given[1])
	}
	return nil
}

// page is what a browser is shown.
type page struct {
	URL      string `json:"url"`
	Password string `json:"password,omitempty"`
}

func pageOf(ctx context.Context, s *engine.Sandbox, what string) (p page, err error) {
	if what == "jupyter" {
		p.URL, err = s.JupyterURL(ctx)
	} else {
		p.URL, p.Password, err = s.CodeServerURL(ctx)
	}
	p.URL = notebook.OwnOrigin(p.URL)
	return p, err
}

// xdgNothing is the code of xdg-open where there is nothing that could open it.
const xdgNothing = 3

// browse asks the desktop to open a page.
func browse(ctx context.Context, url string) error {
	command := "xdg-open"
	if runtime.GOOS == "darwin" {
		command = "open"
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return errors.New("there is no " + command)
	}
	err = exec.CommandContext(ctx, path, url).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && command == "xdg-open" && exit.ExitCode() == xdgNothing {
		return errors.New("xdg-open has found none")
	}
	return err
}
