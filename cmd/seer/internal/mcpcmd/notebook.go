package mcpcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/mcp"
	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/engine/notebook"
)

// pageVariable has the jupyter_url for a person, where the one for the tools is none.
const pageVariable = "SEER_JUPYTER_PAGE"

// runNotebook serves the notebooks of a sandbox.
func (m *mcpCommand) runNotebook(ctx context.Context) error {
	address, page, done, err := m.notebookAddress(ctx)
	if err != nil {
		return err
	}
	defer done()
	o := mcpnotebook.Options{Address: address, Page: page, OutDir: m.outDir(), Session: m.session, Wait: m.wait, Version: m.app.Version(), Logger: m.app.mcpLogger()}
	if m.http != "" {
		return m.serveHTTP(ctx, func(g mcp.Guard) (http.Handler, func(), error) { return mcpnotebook.Handler(ctx, o, g) })
	}
	return cli.ProviderError(mcpnotebook.Serve(ctx, o, m.transport()))
}

func (m *mcpCommand) outDir() string {
	if m.out != "" {
		return m.out
	}
	return os.Getenv("SEER_OUTPUTS") // empty = the package's default
}

// notebookAddress finds the notebook service by a URL, a variable that holds one, or a
// sandbox. The page is the URL for a browser, where that is another one and known.
func (m *mcpCommand) notebookAddress(ctx context.Context) (_ notebook.Address, page string, _ func(), _ error) {
	nothing := func() {}
	text := m.notebook
	if name, is := strings.CutPrefix(text, "env:"); is {
		if text = os.Getenv(name); text == "" {
			return notebook.Address{}, "", nothing, &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("the variable %s is empty; it should hold a jupyter_url with its token", name)}
		}
	}
	if strings.Contains(text, "://") || strings.HasPrefix(text, "unix:") {
		a, err := notebook.Parse(text)
		if err != nil {
			err = cli.Usagef("--notebook: %w", err)
		}
		return a, os.Getenv(pageVariable), nothing, err
	}
	s, err := m.app.Open(ctx, text)
	if engine.KindOf(err) == engine.KindNotFound {
		err = noNotebook(m.notebook, text, err)
	}
	if err != nil {
		return notebook.Address{}, "", nothing, err
	}
	client, err := s.Notebook(ctx)
	if err != nil {
		s.Close()
		return notebook.Address{}, "", nothing, err
	}
	client.Close()
	if page, err = s.JupyterURL(ctx); err != nil {
		page = "" // no browser gets there without `seer forward`
	}
	return client.Address(), page, func() { s.Close() }, nil
}

// noNotebook is err of what is no sandbox. Of what looks like a file, or like a URL without
// its beginning, it says so instead. What may be a token is not said, nor what a variable
// holds.
func noNotebook(given, text string, err error) error {
	const give = "give a sandbox, its jupyter_url with the token (http://…), or env:NAME for a variable that holds one"
	if given != text {
		return cli.Usagef("--notebook %s: the variable holds neither a sandbox nor a URL; %s", given, give)
	}
	if strings.ContainsAny(text, "?:") {
		name, _, _ := strings.Cut(text, "?")
		return cli.Usagef("--notebook %s: that is neither a sandbox nor a URL; %s", name, give)
	}
	if !namesFile(text) {
		return err
	}
	missing := ""
	if _, serr := os.Stat(text); errors.Is(serr, fs.ErrNotExist) {
		missing = ", and is not there"
	}
	return cli.Usagef("--notebook %s: that looks like a file%s; %s", text, missing, give)
}
