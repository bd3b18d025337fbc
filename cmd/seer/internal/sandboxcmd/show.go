package sandboxcmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newShow(a app) *cobra.Command {
	var keys bool
	c := &cobra.Command{
		Use:   "show ID [--keys]",
		Short: "Show everything about a sandbox",
		Long: `Show everything about a sandbox, even one that has ended. Only --keys and --json show
the token of Jupyter and the password of VS Code, so that you can show the text to
anybody.`,
		Example:           "  seer show lab\n  seer show lab --keys\n  seer show sb-4k --json | jq -r .environment.jupyter_url",
		Args:              cli.Args(1, 1, "the ID or name of a sandbox"),
		ValidArgsFunction: a.CompleteSandbox,
		RunE: a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, given []string) error {
			info, err := e.Show(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			return a.Print(info, func(w io.Writer) error { return showText(w, info, keys) })
		}),
	}
	c.Flags().BoolVar(&keys, "keys", false, "also show the token of Jupyter and the password of VS Code")
	return c
}

func showText(w io.Writer, i engine.Info, keys bool) error {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "%-11s %s\n", label, sanitize.Line(fmt.Sprintf(format, args...)))
	}
	line("id", "%s", i.ID)
	if i.Name != "" {
		line("name", "%s", i.Name)
	}
	if i.Builds != "" {
		line("builds", "%s", i.Builds)
	}
	state := string(i.State)
	if i.Message != "" {
		state += " (" + i.Message + ")"
	}
	line("state", "%s", state)
	if i.GPU != "" {
		line("gpu", "%s", gpus(i))
	}
	line("machine", "%s", strings.TrimPrefix(location(i), "On "))
	line("created", "%s, %s ago", term.Clock(i.Created), term.Span(time.Since(i.Created)))
	if i.State.Live() {
		line("ends", "%s (%s lease, %s)", term.Clock(i.Lease.Ends), i.Lease.Kind, endText(i))
	}
	if i.Ended != nil {
		line("ended", "%s", term.Clock(*i.Ended))
	}
	if i.CostPerHour > 0 {
		text := fmt.Sprintf("$%.2f until now, $%.2f an hour", i.Cost, i.CostPerHour)
		if i.Budget > 0 {
			text += fmt.Sprintf(", budget $%.2f", i.Budget)
		}
		line("cost", "%s", text)
	}
	for _, e := range i.Endpoints {
		line("endpoint", "%s (port %d)", e.URL, e.Port)
	}
	if i.ExecutionMode != "" {
		line("session", "%s", i.ExecutionMode)
	}
	if h := i.Environment; h != nil {
		pages(line, i, h, keys)
	}
	fetched(line, i)
	for _, s := range i.Services {
		line("service", "%s", strings.TrimSpace(s.Name+" "+s.State)+": "+cmp.Or(strings.Join(s.Functions, ", "), "-"))
	}
	if i.Experiment != "" {
		line("experiment", "%s", i.Experiment)
	}
	return nil
}

// fetched tells where models and datasets are.
func fetched(line func(string, string, ...any), i engine.Info) {
	for _, m := range i.Models {
		name := m.Name
		if name == "" {
			name = "(hidden)"
		}
		line("model", "%s at %s ($%s)%s", name, m.Path, m.EnvName, provenance(m.Revision, m.Provenance))
	}
	for _, d := range i.Datasets {
		line("dataset", "%s at %s ($%s)%s", d.Name, d.Path, d.EnvName, provenance(d.Revision, d.Provenance))
	}
}

// provenance is what is known of the source of a model, for the end of its line.
func provenance(revision string, p engine.Provenance) string {
	var parts []string
	if revision != "" {
		parts = append(parts, "revision "+revision)
	}
	if p.License != "" {
		parts = append(parts, "license "+p.License)
	}
	if p.Gate != "" {
		parts = append(parts, "gated ("+p.Gate+")")
	}
	if n := len(p.Files); n > 0 {
		parts = append(parts, term.Plural(n, "file")+", listed under --json")
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

// pages tells where a browser finds Jupyter and VS Code. Their URLs without keys lead nowhere.
func pages(line func(string, string, ...any), i engine.Info, h *engine.EnvironmentHandle, keys bool) {
	ref := i.ID
	if i.Name != "" {
		ref = i.Name
	}
	if h.JupyterURL != "" && keys {
		line("jupyter", "%s", h.JupyterURL)
	} else if h.JupyterPort != 0 {
		line("jupyter", "port %d, open it with: %s", h.JupyterPort, pageCommand("jupyter", h.JupyterURL, ref))
	}
	if h.CodeServerURL != "" && keys {
		line("vs code", "%s (password %s)", h.CodeServerURL, h.CodeServerKey)
	} else if h.CodeServerPort != 0 {
		line("vs code", "port %d, open it with: %s", h.CodeServerPort, pageCommand("code", h.CodeServerURL, ref))
	}
}

// pageCommand is the command that leads to a page: through the runtime, where no port leads to it.
func pageCommand(page, url, ref string) string {
	if url == "" {
		return fmt.Sprintf("seer forward %s %s", ref, page)
	}
	return fmt.Sprintf("seer open %s %s", ref, page)
}

// location says on what a sandbox runs.
func location(i engine.Info) string {
	parts := []string{"On " + i.Provider}
	if i.Isolation != "" {
		parts = append(parts, "isolation "+i.Isolation)
	}
	if i.Network != "" {
		parts = append(parts, "network "+i.Network)
	}
	return strings.Join(parts, ", ")
}
