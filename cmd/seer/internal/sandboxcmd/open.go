package sandboxcmd

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/state"
)

func newOpen(a app) *cobra.Command {
	var show bool
	c := &cobra.Command{
		Use:   "open ID jupyter|code [--print]",
		Short: "Open a sandbox's Jupyter or VS Code in the browser",
		Long: `Open Jupyter (execution_mode: notebook) or VS Code (debug: true) of a sandbox in the
browser. VS Code asks for a password, which Seer prints. Jupyter's URL contains its
token, which allows everything in the sandbox. Seer therefore opens a file that only
you can read and that redirects to the URL.

Seer prints the URL with --print, or if there is no browser. Use --print for a browser
that cannot read such files (a snap). On this computer, the host in the URL is a name
under localhost, so that the pages of sandboxes share no cookies; in a browser that
does not resolve such names (Safari), replace it by 127.0.0.1. If the provider does
not expose the port, use seer forward.`,
		Example:           "  seer open lab jupyter\n  seer open lab code --print",
		Args:              cobra.MatchAll(cli.Args(2, 2, "a sandbox, and jupyter or code"), checkPage),
		ValidArgsFunction: a.completeSandboxThenPage,
		RunE: a.WithSandbox(func(cmd *cobra.Command, s *engine.Sandbox, given []string) error {
			defer s.Close()
			page, err := pageOf(cmd.Context(), s, given[1])
			if err != nil {
				return err
			}
			opened := false
			if !show {
				err := a.browse(cmd.Context(), s.ID(), page.URL)
				if opened = err == nil; !opened {
					a.UI.Note("warning", fmt.Sprintf("no browser could be opened: %v; open the URL yourself, and keep it to yourself", err))
				}
			}
			return a.Print(page, func(w io.Writer) error {
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
		}),
	}
	c.Flags().BoolVar(&show, "print", false, "print the URL with its token instead of opening it")
	return c
}

// pageName is what a page is called.
func pageName(what string) string {
	if what == "jupyter" {
		return "Jupyter"
	}
	return "VS Code"
}

func checkPage(_ *cobra.Command, given []string) error {
	if given[1] != "jupyter" && given[1] != "code" {
		return cli.Usagef("%q cannot be opened; write jupyter or code", given[1])
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

// browse has the desktop open a page of a sandbox. Every user of this computer can read the
// arguments of programs, so the browser is given a private file that leads to the URL.
// The browser may read it after this returns: it stays as long as the sandbox.
func (a app) browse(ctx context.Context, sandbox, address string) error {
	program, err := cli.Browser()
	if err != nil {
		return err
	}
	if !a.urlInArguments {
		if address, err = a.redirect(sandbox, address); err != nil {
			return err
		}
	}
	return cli.Browse(ctx, program, address)
}

// redirect writes the file that leads to a URL, and returns the file's own URL.
func (a app) redirect(sandbox, to string) (string, error) {
	e, err := a.Engine()
	if err != nil {
		return "", err
	}
	dir, err := e.RunDirs().Page(sandbox)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "open.html")
	text := fmt.Sprintf("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0;url=%[1]s\">\n<a href=\"%[1]s\">open</a>\n", html.EscapeString(to))
	if err := state.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", Path: file}).String(), nil
}
