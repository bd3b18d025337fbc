package plugincmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/sdk"
)

// NewPlugin makes the command seer plugin.
func NewPlugin(base *cli.App) *cobra.Command {
	a := app{App: base}
	return cli.Family("plugin", "Install, grant and write plugins",
		newPluginLs(a), newPluginInfo(a), newPluginInstall(a), newPluginUninstall(a),
		newPluginGrant(a), newPluginRevoke(a), newPluginAudit(a), newPluginPolicy(a), newPluginRepin(a),
		newPluginNew(a), newPluginBuild(a), newPluginTest(a), newPluginDev(a),
		newPluginSign(a), newPluginVerify(a), newPluginPush(a), newPluginSchema(a))
}

func newPluginLs(a app) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List plugins",
		Long: `List the plugins in the folders of --plugin-dir, SEER_PLUGIN_DIR, the user's data
folder (seer/plugins) and the program's own. Seer runs none of them.`,
		Example: "  seer plugin ls\n  seer plugin ls --plugin-dir ./my-plugins",
		Args:    cli.Args(0, 0, "no argument"),
		RunE: a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, _ []string) error {
			plugins, broken := e.Plugins(cmd.Context())
			texts := []string{}
			for _, err := range broken {
				texts = append(texts, cli.Text(err))
			}
			if plugins == nil {
				plugins = []host.Plugin{}
			}
			return a.Print(map[string]any{"plugins": plugins, "broken": texts}, func(w io.Writer) error {
				for _, text := range texts {
					a.UI.Note("warning", text)
				}
				if len(plugins) == 0 {
					a.UI.Tell("No plugins in %s.", strings.Join(e.PluginDirs(), ", "))
					return nil
				}
				return term.PrintTable(w, a.UI.Width(), pluginColumns(), pluginRows(plugins))
			})
		}),
	}
}

func pluginColumns() []term.Column {
	return []term.Column{{Title: "ID"}, {Title: "VERSION", Drop: 1}, {Title: "IMPLEMENTS", Drop: 2}, {Title: "PROVIDES"}, {Title: "ACCESS"}, {Title: "FILE", Drop: 3}}
}

func pluginRows(plugins []host.Plugin) [][]string {
	rows := make([][]string, len(plugins))
	for n, p := range plugins {
		m := p.Manifest
		rows[n] = []string{m.ID, m.Version, strings.Join(m.Implements, ","), strings.Join(m.Provides, ","), accessText(p), p.File}
	}
	return rows
}

func newPluginInfo(a app) *cobra.Command {
	return &cobra.Command{
		Use: "info ID | FILE.wasm", Short: "Show everything about one plugin",
		Example:           "  seer plugin info expose-library\n  seer plugin info dist/provider-tiny.wasm",
		Long:              "Show what a plugin is, what it provides and which permissions it asks for. Seer does\nnot run it.",
		Args:              cli.Args(1, 1, "the ID of a plugin, or a module"),
		ValidArgsFunction: a.completePlugin,
		RunE: func(cmd *cobra.Command, given []string) error {
			p, err := a.inspect(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			return a.Print(p, func(w io.Writer) error { return pluginText(w, p) })
		},
	}
}

// accessText says in a word how a plugin stands.
func accessText(p host.Plugin) string {
	switch {
	case len(p.Access) == 0:
		return "asks nothing"
	case p.Grant == nil:
		return "NOT GRANTED"
	case len(p.Access.Without(p.Grant.Lines)) > 0:
		return "in part"
	}
	return p.Grant.By
}

// inspect is an installed plugin or one in a file.
func (a app) inspect(ctx context.Context, what string) (host.Plugin, error) {
	if !strings.HasSuffix(what, ".wasm") {
		return a.findPlugin(ctx, what)
	}
	p, err := host.Inspect(what)
	if err != nil {
		return p, pluginError(err)
	}
	s, err := a.pluginStore()
	if err != nil {
		return p, err
	}
	if g, err := s.Decide(ctx, p); err == nil {
		p.Grant = &g
	}
	return p, nil
}

func pluginText(w io.Writer, p host.Plugin) error {
	m := p.Manifest
	lines := [][2]string{
		{"id", m.ID}, {"version", m.Version}, {"what", strings.Join(strings.Fields(m.Description), " ")}, {"implements", strings.Join(m.Implements, ", ")},
		{"provides", strings.Join(m.Provides, ", ")}, {"default for", strings.Join(m.DefaultFor, ", ")},
	}
	lines = append(lines, permissionText(p)...)
	for _, l := range append(lines, [2]string{"access", accessText(p)}, [2]string{"hash", p.Hash}, [2]string{"file", p.File}, [2]string{"digest", p.Digest}) {
		if l[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-11s %s\n", l[0], sanitize.Line(l[1])); err != nil {
			return err
		}
	}
	return nil
}

// permissionText is what a plugin asks for, in words and with the reason, and below the
// lines that can be granted.
func permissionText(p host.Plugin) [][2]string {
	var out [][2]string
	all := access.Lines(p.Manifest)
	for n, line := range all {
		if n == 0 || all[n-1].Plain != line.Plain || all[n-1].Reason != line.Reason {
			out = append(out, [2]string{"may", line.Plain + reasonText(line.Reason)})
		}
		mark := ""
		if p.Grant == nil || !p.Grant.Lines.Has(line.Text) {
			mark = " (NOT GRANTED)"
		}
		out = append(out, [2]string{" ", line.Text + mark})
	}
	return out
}

func (a app) completePlugin(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cli.NoFiles
	}
	var ids []string
	a.EachManifest(cmd.Context(), func(m sdk.Manifest) { ids = append(ids, m.ID+"\t"+m.Description) })
	return ids, cli.NoFiles
}
