package main

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/host"
	"github.com/seer-engine/seer/sdk"
)

func newPlugin(a *app) *cobra.Command {
	return family("plugin", "Look at the installed plugins", newPluginLs(a), newPluginInfo(a))
}

func newPluginLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List plugins",
		Long: `List the plugins in the folders of --plugin-dir, SEER_PLUGIN_DIR, the user's data
folder (seer/plugins) and the program's own. No plugin is run.`,
		Example: "  seer plugin ls\n  seer plugin ls --plugin-dir ./my-plugins",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := a.engine()
			if err != nil {
				return err
			}
			plugins, broken := e.Plugins(cmd.Context())
			texts := []string{}
			for _, err := range broken {
				texts = append(texts, err.Error())
			}
			if plugins == nil {
				plugins = []host.Plugin{}
			}
			return a.print(map[string]any{"plugins": plugins, "broken": texts}, func(w io.Writer) error {
				for _, text := range texts {
					a.ui.note("warning", text)
				}
				if len(plugins) == 0 {
					a.ui.tell("No plugins in %s.", strings.Join(e.PluginDirs(), ", "))
					return nil
				}
				return printTable(w, a.ui.width(), pluginColumns(), pluginRows(plugins))
			})
		},
	}
}

func pluginColumns() []column {
	return []column{{"ID", 0}, {"VERSION", 1}, {"IMPLEMENTS", 2}, {"PROVIDES", 0}, {"FILE", 3}}
}

func pluginRows(plugins []host.Plugin) [][]string {
	rows := make([][]string, len(plugins))
	for n, p := range plugins {
		m := p.Manifest
		rows[n] = []string{m.ID, m.Version, strings.Join(m.Implements, ","), strings.Join(m.Provides, ","), p.File}
	}
	return rows
}

func newPluginInfo(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "info ID", Short: "Tell everything about one plugin", Example: "  seer plugin info expose-library",
		Long:              "Tell what a plugin is, what it provides and what it asks for. It is not run.",
		Args:              args(1, 1, "the ID of a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: func(cmd *cobra.Command, given []string) error {
			e, err := a.engine()
			if err != nil {
				return err
			}
			plugins, _ := e.Plugins(cmd.Context())
			var have []string
			for _, p := range plugins {
				if p.Manifest.ID == given[0] {
					return a.print(p, func(w io.Writer) error { return pluginText(w, p) })
				}
				have = append(have, p.Manifest.ID)
			}
			return &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("there is no usable plugin %q; there is %s", given[0], dash(strings.Join(have, ", ")))}
		},
	}
}

// asks is what a plugin wants to do, one line each.
func asks(m sdk.Manifest) []string {
	var lines []string
	if m.Permissions.Folders {
		lines = append(lines, "to read the model folders that the experiment names")
	}
	for _, h := range m.Permissions.HTTP {
		lines = append(lines, fmt.Sprintf("%s: %s at %s%s", h.Reason, strings.Join(h.Methods, ", "), origin(m, h.Destination), strings.Join(h.Paths, " ")))
	}
	for _, g := range m.Permissions.GRPC {
		var methods []string
		for _, method := range g.Methods {
			methods = append(methods, path.Base(method))
		}
		lines = append(lines, fmt.Sprintf("%s: gRPC at %s, %s", g.Reason, origin(m, g.Destination), strings.Join(methods, " ")))
	}
	for _, s := range m.Secrets {
		var where []string
		for _, b := range s.Bind {
			where = append(where, fmt.Sprintf("%s at %s", b.Header, origin(m, b.Destination)))
		}
		lines = append(lines, fmt.Sprintf("the use of %s, unseen: Seer adds it as %s", append(s.Env, s.Name)[0], strings.Join(where, ", ")))
	}
	if len(lines) == 0 {
		return []string{"nothing"}
	}
	return lines
}

// origin is a destination with the setting's default in its place.
func origin(m sdk.Manifest, destination string) string {
	for _, s := range m.Settings {
		if destination == "{"+s.Name+"}" {
			return s.Default
		}
	}
	return destination
}

func pluginText(w io.Writer, p host.Plugin) error {
	m := p.Manifest
	lines := [][2]string{
		{"id", m.ID}, {"version", m.Version}, {"what", m.Description}, {"implements", strings.Join(m.Implements, ", ")},
		{"provides", strings.Join(m.Provides, ", ")},
	}
	for _, what := range asks(m) {
		lines = append(lines, [2]string{"asks for", what})
	}
	for _, set := range m.Settings {
		text := fmt.Sprintf("%s, set with %s", set.Doc, strings.Join(set.Env, " or "))
		if set.Default != "" {
			text += "; default " + set.Default
		}
		lines = append(lines, [2]string{"reads", text})
	}
	for _, l := range append(lines, [2]string{"file", p.File}, [2]string{"digest", p.Digest}) {
		if l[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-11s %s\n", l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}
