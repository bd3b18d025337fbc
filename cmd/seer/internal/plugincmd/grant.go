package plugincmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/engine/sanitize"
)

// granting is one `seer plugin grant`.
type granting struct {
	folder string
	hash   string
	only   []string

	waiting bool // it is of a version that waits for a yes, be it to nothing
	inFile  bool // it is of a file, which need not be where plugins are found
}

func newPluginGrant(a app) *cobra.Command {
	var g granting
	c := &cobra.Command{
		Use:   "grant [ID | FILE.wasm]",
		Short: "Grant a plugin its permissions, or some of them",
		Long: `Show the permissions that a plugin asks for, and ask whether to grant them. The grant
covers exactly this file and these permissions. With --folder, it covers every build in
a folder of yours that asks for no more.

A plugin that asks for permissions does not run without a grant. With --only, the plugin
runs with these permissions alone, and Seer refuses the others.`,
		Example: `  seer plugin grant provider-tiny
  seer plugin grant provider-tiny --only 'http GET https://api.tiny.example /prices'
  seer plugin grant --folder ./provider-tiny/dist
  seer plugin grant provider-tiny --grant sha256:…`,
		Args:              cli.Args(0, 1, "at most a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: func(cmd *cobra.Command, given []string) error {
			if (len(given) == 1) == (g.folder != "") {
				return cli.Usagef("name a plugin, or a folder with --folder")
			}
			if g.folder != "" {
				return a.grantFolder(cmd.Context(), g)
			}
			return a.grant(cmd.Context(), given[0], g)
		},
	}
	f := c.Flags()
	f.StringVar(&g.folder, "folder", "", "grant builds in this `folder`")
	f.StringVar(&g.hash, "grant", "", "grant permissions with this `hash` without asking; refuse others")
	f.StringArrayVar(&g.only, "only", nil, "grant only the permission with this `line`; may be repeated")
	return c
}

// granted is what was allowed, for --json.
type granted struct {
	ID     string     `json:"id"`
	Lines  access.Set `json:"lines"`
	Hash   string     `json:"permissions"`
	Folder string     `json:"folder,omitempty"`
	File   string     `json:"file,omitempty"`
}

func (a app) grant(ctx context.Context, what string, g granting) error {
	s, err := a.pluginStore()
	if err != nil {
		return err
	}
	p, err := a.findGrantable(ctx, s, what)
	if err != nil {
		return err
	}
	pending, err := s.Pending()
	if err != nil {
		return pluginError(err)
	}
	g.waiting = pending[what] != ""
	g.inFile = strings.HasSuffix(what, ".wasm")
	lines, err := a.confirmGrant(ctx, p, g)
	if err != nil {
		return err
	}
	err = s.Grant(ctx, store.Grant{ID: p.Manifest.ID, Digest: p.Digest, Version: p.Manifest.Version, Asked: p.Access, Lines: lines, By: g.by()})
	if err != nil {
		return pluginError(err)
	}
	return a.Print(granted{ID: p.Manifest.ID, Lines: lines, Hash: lines.Hash(), File: p.File}, func(io.Writer) error {
		a.UI.Tell("Granted %s %s", p.Manifest.ID, p.Manifest.Version)
		return nil
	})
}

func (g granting) by() string {
	if g.hash != "" {
		return "--grant"
	}
	return "you"
}

// findGrantable finds the plugin: a file, the version that waits, or the one that is used.
func (a app) findGrantable(ctx context.Context, s *store.Store, what string) (host.Plugin, error) {
	if strings.HasSuffix(what, ".wasm") {
		p, err := host.Inspect(what)
		return p, pluginError(err)
	}
	pending, err := s.Pending()
	if err != nil {
		return host.Plugin{}, pluginError(err)
	}
	if digest, ok := pending[what]; ok {
		in, err := s.Lookup(digest)
		if err != nil {
			return host.Plugin{}, pluginError(err)
		}
		p, err := host.Inspect(in.File())
		return p, pluginError(err)
	}
	return a.findPlugin(ctx, what)
}

func (a app) findPlugin(ctx context.Context, id string) (host.Plugin, error) {
	e, err := a.Engine()
	if err != nil {
		return host.Plugin{}, err
	}
	plugins, broken := e.Plugins(ctx)
	var have []string
	for _, p := range plugins {
		if p.Manifest.ID == id {
			return p, nil
		}
		have = append(have, p.Manifest.ID)
	}
	for _, err := range broken {
		var fault *host.Error
		if errors.As(err, &fault) && fault.Plugin == id {
			return host.Plugin{}, &engine.Error{Kind: engine.KindPlugin, Err: err}
		}
	}
	return host.Plugin{}, &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("there is no usable plugin %q; there is %s", id, cmp.Or(strings.Join(have, ", "), "-"))}
}

// confirmGrant asks for the yes and gives the lines that it is for.
func (a app) confirmGrant(ctx context.Context, p host.Plugin, g granting) (access.Set, error) {
	lines, info := p.Access, "seer plugin info "+p.Manifest.ID
	if g.inFile {
		info = "seer plugin info " + term.ShellQuoted(p.File)
	}
	if len(lines) == 0 && !g.waiting {
		return nil, &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("%s asks for nothing; it needs no grant", p.Manifest.ID)}
	}
	if len(g.only) > 0 {
		lines = access.Make(g.only...)
		if unknown := lines.Without(p.Access); len(unknown) > 0 {
			return nil, cli.Usagef("%s does not ask for %q; %s shows its lines", p.Manifest.ID, unknown[0], info)
		}
	}
	if g.hash != "" {
		switch g.hash {
		case lines.Hash():
			return lines, nil
		case p.Access.Hash():
			return nil, &engine.Error{Kind: engine.KindPlugin, Err: fmt.Errorf("%s is the hash of all that %s asks for; the part that you chose has the hash %s", g.hash, p.Manifest.ID, lines.Hash())}
		}
		return nil, &engine.Error{Kind: engine.KindPlugin, Err: fmt.Errorf("%s asks for other permissions than %s: theirs is %s; see %s", p.Manifest.ID, g.hash, lines.Hash(), info)}
	}
	a.showAccess(p, lines)
	yes, err := a.UI.Confirm(ctx, "Allow this?")
	if err == nil && !yes {
		return nil, a.Declined("Nothing was granted.")
	}
	if errors.Is(err, term.ErrNotATerminal) {
		return nil, &engine.Error{Kind: engine.KindPlugin, Err: fmt.Errorf("nothing was granted to %s; to say yes without a terminal: --grant %s", p.Manifest.ID, lines.Hash())}
	}
	return lines, err
}

// showAccess writes the permissions with their reasons to stderr, for it is a question.
func (a app) showAccess(p host.Plugin, lines access.Set) {
	if a.JSON { // nobody is asked; plugin info tells it
		return
	}
	fmt.Fprintf(a.UI.Stderr(), "%s %s, %s\n", p.Manifest.ID, p.Manifest.Version, sanitize.Text(p.File))
	fmt.Fprint(a.UI.Stderr(), permissionLines(p, lines, ""))
	fmt.Fprintf(a.UI.Stderr(), "  permission hash %s\n", lines.Hash())
}

// permissionLines has a line for each of these permissions, with its reason.
func permissionLines(p host.Plugin, lines access.Set, mark string) string {
	var text strings.Builder
	for _, line := range access.Lines(p.Manifest) {
		if lines.Has(line.Text) {
			fmt.Fprintf(&text, "  %s%s%s\n", mark, sanitize.Line(line.Text), sanitize.Line(reasonText(line.Reason)))
		}
	}
	return text.String()
}
