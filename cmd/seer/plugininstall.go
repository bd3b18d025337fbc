package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/host/access"
	"github.com/seer-engine/seer/engine/plugin/bundle/transfer"
	plugins "github.com/seer-engine/seer/engine/plugin/install"
	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// installing is one `seer plugin install`.
type installing struct {
	grant     string
	only      []string
	lockDir   string
	noLock    bool
	plainHTTP bool
}

func newPluginInstall(a *app) *cobra.Command {
	var n installing
	c := &cobra.Command{
		Use:   "install [REF]",
		Short: "Install a plugin, after showing what it may do",
		Long: `Fetch a plugin, check it without running it, show where it is from, who signed
it, what its conformance report says and what it asks for, and ask. Nothing is
used before you have said yes. REF is one of

  host/name:tag, oci://host/name@sha256:…   an OCI registry
  https://host/path/ID.wasm                 an address
  ./ID.wasm                                 a file

In a folder with an experiment or a seer.lock, the plugin is noted in seer.lock.
Without REF, what seer.lock names is installed; what is here already needs no
network.

A newer version that asks for nothing new replaces the old one at once. One that
asks for more waits for your yes, and the old one goes on.`,
		Example: `  seer plugin install registry.example/acme/provider-tiny:1.2
  seer plugin install ./provider-tiny.wasm --grant sha256:…
  seer plugin install`,
		Args: args(0, 1, "at most a reference"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if n.noLock && n.lockDir != "" {
				return usagef("--lock and --no-lock exclude each other")
			}
			if len(given) == 0 {
				return a.installLocked(cmd.Context(), n)
			}
			return a.installPlugin(cmd.Context(), given[0], n)
		},
	}
	f := c.Flags()
	f.StringVar(&n.grant, "grant", "", "say yes beforehand: the permission `hash`; any other is refused")
	f.StringArrayVar(&n.only, "only", nil, "grant only this permission: its `line`; may be repeated")
	f.StringVar(&n.lockDir, "lock", "", "note it in the seer.lock of this `folder`")
	f.BoolVar(&n.noLock, "no-lock", false, "write no seer.lock")
	f.BoolVar(&n.plainHTTP, "plain-http", false, "speak http to a registry on this computer")
	return c
}

func (a *app) installer(ctx context.Context, n installing) (plugins.Installer, error) {
	i := plugins.Installer{Source: oci.Source{Client: a.registry("fetching", n.plainHTTP)}}
	e, err := a.engine()
	if err != nil {
		return i, err
	}
	if i.Store, err = e.PluginStore(); err != nil {
		return i, err
	}
	i.Others, _ = e.Plugins(ctx) // one that is broken is in nobody's place
	return i, nil
}

// registry is the way to registries, with progress.
func (a *app) registry(doing string, plainHTTP bool) oci.Client {
	return oci.Client{PlainHTTP: plainHTTP, Transfer: transfer.Options{Progress: a.moving(doing)}}
}

// moving shows how far a transfer is.
func (a *app) moving(doing string) transfer.Progress {
	return func(done, total int64) {
		text := doing
		switch {
		case total > 0:
			text += fmt.Sprintf(": %s of %s", megabytes(done), megabytes(total))
		case done > 0:
			text += ": " + megabytes(done)
		}
		if a.ui.live != nil { // in a log, every piece would be a line
			a.ui.progress(engine.Event{Time: time.Now(), Stage: engine.StagePlugin, Level: engine.LevelInfo, Message: text})
		}
	}
}

func (a *app) pluginStore() (*store.Store, error) {
	e, err := a.engine()
	if err != nil {
		return nil, err
	}
	return e.PluginStore()
}

// lockFolder is where the lock goes: where one is, or an experiment.
func (n installing) lockFolder() string {
	switch {
	case n.noLock:
		return ""
	case n.lockDir != "":
		return n.lockDir
	case store.HasLock("."):
		return "."
	}
	if _, err := os.Stat("seer.yaml"); err == nil {
		return "."
	}
	return ""
}

func (a *app) installPlugin(ctx context.Context, ref string, n installing) error {
	if _, err := oci.Resolve(ref); err != nil {
		return usagef("%v", err)
	}
	i, err := a.installer(ctx, n)
	if err != nil {
		return err
	}
	a.moving("fetching "+ref)(0, 0)
	plan, err := i.Plan(ctx, plugins.Request{Ref: ref, LockDir: n.lockFolder()})
	if err != nil {
		return pluginError(err)
	}
	result, err := a.consented(ctx, i, plan, n)
	if err != nil {
		return err
	}
	return a.print(result, func(io.Writer) error { return nil })
}

// installLocked installs what the lock of the folder names.
func (a *app) installLocked(ctx context.Context, n installing) error {
	dir := n.lockDir
	if dir == "" {
		dir = "."
	}
	i, err := a.installer(ctx, n)
	if err != nil {
		return err
	}
	lock, err := store.ReadLock(dir)
	if errors.Is(err, os.ErrNotExist) {
		return &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("there is no %s in %s; name a plugin: seer plugin install REF", store.LockFile, dir)}
	}
	if err != nil {
		return &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	plans, err := i.FromLock(ctx, lock)
	if err != nil {
		return pluginError(err)
	}
	results := []plugins.Result{}
	var refused error
	for _, plan := range plans {
		result, err := a.consented(ctx, i, plan, n)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		results = append(results, result)
	}
	if err := a.print(results, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	return refused
}

// consented shows a plan, asks where that is needed, and makes it hold.
func (a *app) consented(ctx context.Context, i plugins.Installer, plan *plugins.Plan, n installing) (plugins.Result, error) {
	if !a.jsonOut {
		a.showPlan(plan)
	}
	consent := plugins.Consent{Hash: n.grant, Only: n.only, By: "--grant"}
	if plan.NeedsGrant && n.grant == "" {
		yes, err := a.confirm(ctx, "Install it, and allow this?")
		switch {
		case errors.Is(err, errNobodyThere):
		case err != nil:
			return plugins.Result{}, err
		case yes:
			consent = plugins.Consent{Hash: plan.Hash, Only: n.only, By: "you"}
		}
	}
	result, err := i.Apply(ctx, plan, consent)
	if err != nil {
		return result, pluginError(err)
	}
	what := plan.ID + " " + plan.Version
	switch {
	case result.Pending:
		a.ui.tell("%s is stored and waits; %s stays in use. Say yes: seer plugin grant %s", what, plan.Active.Version, plan.ID)
	case result.Lock != "":
		a.ui.tell("Installed %s; noted in %s", what, result.Lock)
	default:
		a.ui.tell("Installed %s", what)
	}
	return result, nil
}

// showPlan writes what the user has to know to stderr, for it is a question.
func (a *app) showPlan(p *plugins.Plan) {
	say := func(name, format string, args ...any) {
		fmt.Fprintf(a.ui.stderr(), "%-12s %s\n", name, oneLine(fmt.Sprintf(format, args...)))
	}
	say("plugin", "%s %s: %s", p.ID, p.Version, p.Description)
	say("provides", "%s (%s)", strings.Join(p.Provides, ", "), strings.Join(p.Contract, ", "))
	say("from", "%s", p.Origin.Resolved)
	say("signed by", "%s", signedBy(p))
	say("tested", "%s", tested(p.Report))
	for n, line := range p.Lines {
		if n > 0 && p.Lines[n-1].Plain == line.Plain && p.Lines[n-1].Reason == line.Reason {
			continue // one of several lines of one permission
		}
		say("may", "%s%s", line.Plain, because(line.Reason))
	}
	switch exposes := slices.ContainsFunc(p.Contract, func(c string) bool { return strings.HasPrefix(c, "expose/") }); {
	case exposes:
		say("may", "write the code and the words by which your agent uses your functions, like every expose mode")
	case len(p.Lines) == 0:
		say("may", "nothing but compute")
	}
	for _, line := range p.Beyond {
		say("refused", "%s: the policy of this computer does not allow it", line)
	}
	if p.Active != nil && p.Active.Version != p.Version {
		say("now", "%s", p.Active.Version)
		showDifference(say, p.Added, p.Removed)
	}
	say("hash", "%s", p.Hash)
	for _, why := range p.Why {
		say("note", "%s", why)
	}
	for _, warning := range p.Warnings {
		a.ui.note("warning", warning)
	}
}

func showDifference(say func(name, format string, args ...any), added, removed access.Set) {
	for _, line := range added {
		say("  new", "%s", line)
	}
	for _, line := range removed {
		say("  no longer", "%s", line)
	}
}

// because is a reason that leaves room for what it is about: a stranger wrote it.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + shortened(reason, longestReason)
}

const longestReason = 240

func shortened(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

func signedBy(p *plugins.Plan) string {
	switch {
	case p.Signer == nil:
		return "nobody"
	case p.Known:
		return p.Signer.Fingerprint + ", as before"
	}
	return p.Signer.Fingerprint + ", for the first time"
}

// tested tells what the author's report says.
func tested(r *sdktest.Report) string {
	if r == nil {
		return "there is no report about this module"
	}
	text := fmt.Sprintf("%d of %d checks passed, kit %d, %s (says the author)",
		r.Count(sdktest.Passed), len(r.Results)-r.Count(sdktest.Skipped), r.Kit, r.Time.Format("2006-01-02"))
	var failed []string
	for _, result := range r.Results {
		if result.Status == sdktest.Failed {
			failed = append(failed, result.Check)
		}
	}
	if len(failed) > 0 {
		text += "; failed: " + shortened(strings.Join(failed, ", "), longestReason)
	}
	return text
}

// pluginError gives errors of the store and of installations their kind.
func pluginError(err error) error {
	var own *engine.Error
	switch {
	case err == nil, errors.As(err, &own), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, os.ErrNotExist):
		return &engine.Error{Kind: engine.KindNotFound, Err: err}
	case engine.KindOf(err) != engine.KindInternal:
		return err
	}
	return &engine.Error{Kind: engine.KindPlugin, Err: err}
}

func newPluginUninstall(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "uninstall ID", Aliases: []string{"rm"}, Short: "Take an installed plugin and its grants away",
		Long: `Remove every installed version of a plugin, and take its grants back. A seer.lock
that names it is not changed.`,
		Example:           "  seer plugin uninstall provider-tiny",
		Args:              args(1, 1, "the ID of a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.uninstall(cmd.Context(), given[0])
		},
	}
}

func (a *app) uninstall(ctx context.Context, id string) error {
	s, err := a.pluginStore()
	if err != nil {
		return err
	}
	all, _ := s.List() // what is broken there is no version of it
	var gone []string
	for _, in := range all {
		if in.ID == id {
			if err := s.Remove(ctx, in.Digest); err != nil {
				return pluginError(err)
			}
			gone = append(gone, in.Version)
		}
	}
	if len(gone) == 0 {
		return &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("no plugin %q is installed; see seer plugin ls", id)}
	}
	if _, err := s.Revoke(ctx, id); err != nil {
		return pluginError(err)
	}
	return a.print(map[string]any{"id": id, "removed": gone}, func(io.Writer) error {
		a.ui.tell("Removed %s %s", id, strings.Join(gone, ", "))
		return nil
	})
}

func newPluginRepin(a *app) *cobra.Command {
	var signer string
	c := &cobra.Command{
		Use: "repin ID", Short: "Accept another signer of a plugin",
		Long: `Forget who signed a plugin until now, so that the next installing remembers
whoever signed that, or remember --signer at once. Do it only when the author has
told you of the new key in another way.`,
		Example:           "  seer plugin repin provider-tiny --signer SHA256:…",
		Args:              args(1, 1, "the ID of a plugin"),
		ValidArgsFunction: a.completePlugin,
		RunE: func(cmd *cobra.Command, given []string) error {
			s, err := a.pluginStore()
			if err != nil {
				return err
			}
			old, err := s.Signer(given[0])
			if err == nil {
				err = s.Repin(cmd.Context(), given[0], signer)
			}
			if err != nil {
				return pluginError(err)
			}
			return a.print(map[string]string{"id": given[0], "forgotten": old, "signer": signer}, func(io.Writer) error {
				a.ui.tell("%s was signed by %s; now by %s", given[0], dash(old), orNext(signer))
				return nil
			})
		},
	}
	c.Flags().StringVar(&signer, "signer", "", "its `fingerprint`, SHA256:… (default: whoever signed what is installed next)")
	return c
}

func orNext(signer string) string {
	if signer == "" {
		return "whoever signed what is installed next"
	}
	return signer
}

func newPluginPolicy(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "policy", Short: "Show what limits all plugins",
		Long: `Show the policy: what no grant goes beyond. It stands under plugins: in the
configuration file; see docs/plugins/trust.md.`,
		Args: args(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.pluginStore()
			if err != nil {
				return err
			}
			p, err := s.Policy()
			if err != nil {
				return &engine.Error{Kind: engine.KindConfig, Err: err}
			}
			return a.print(p, func(w io.Writer) error { return policyText(w, p) })
		},
	}
}

func policyText(w io.Writer, p store.Policy) error {
	anyOf := func(list []string) string {
		if len(list) == 0 {
			return "any"
		}
		return strings.Join(slices.Sorted(slices.Values(list)), ", ")
	}
	from := "the default: there is no configuration file"
	if p.File != "" {
		from = filepath.Clean(p.File)
	}
	for _, l := range [][2]string{
		{"from", from}, {"signatures", string(p.Signatures)}, {"signers", anyOf(p.Signers)}, {"destinations", anyOf(p.Destinations)},
		{"max_memory_mb", fmt.Sprint(p.MaxMemoryMB)}, {"registries", anyOf(p.Registries)},
	} {
		if _, err := fmt.Fprintf(w, "%-14s %s\n", l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}
