package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	plugins "github.com/seer-engine/seer/engine/plugin/install"
	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/internal/httpretry"
)

// installing is one `seer plugin install`.
type installing struct {
	grant     string
	only      []string
	lockDir   string
	noLock    bool
	plainHTTP bool
}

func newPluginInstall(a app) *cobra.Command {
	var n installing
	c := &cobra.Command{
		Use:   "install [REF]",
		Short: "Install a plugin, after showing its permissions",
		Long: `Fetch a plugin and check it without running it. Show its source, its signer, its
conformance report and the permissions that it asks for, and ask whether to install it.
Seer does not use the plugin before you agree. REF is one of

  host/name:tag, oci://host/name@sha256:…   an OCI registry
  https://host/path/ID.wasm                 an address
  ./ID.wasm                                 a file

In a folder with an experiment or a seer.lock, Seer adds the plugin to seer.lock. Without
REF, it installs the plugins that seer.lock names; those that are here need no network.

A newer version that asks for no new permissions replaces the old one at once. One that
asks for more waits for your consent, and the old version stays in use.`,
		Example: `  seer plugin install registry.example/acme/provider-tiny:1.2
  seer plugin install ./provider-tiny.wasm --grant sha256:…
  seer plugin install`,
		Args: cli.Args(0, 1, "at most a reference"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if n.noLock && n.lockDir != "" {
				return cli.Usagef("--lock and --no-lock exclude each other")
			}
			if len(given) == 0 {
				return a.installLocked(cmd.Context(), n)
			}
			return a.installPlugin(cmd.Context(), given[0], n)
		},
	}
	f := c.Flags()
	f.StringVar(&n.grant, "grant", "", "grant permissions with this `hash` without asking; refuse others")
	f.StringArrayVar(&n.only, "only", nil, "grant only the permission with this `line`; may be repeated")
	f.StringVar(&n.lockDir, "lock", "", "add the plugin to the seer.lock in this `folder`")
	f.BoolVar(&n.noLock, "no-lock", false, "write no seer.lock")
	f.BoolVar(&n.plainHTTP, "plain-http", false, "use plain HTTP for a registry on this computer")
	return c
}

func (a app) installer(ctx context.Context, n installing) (plugins.Installer, error) {
	i := plugins.Installer{Source: oci.Source{Client: a.registry("fetching", n.plainHTTP)}}
	e, err := a.Engine()
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
func (a app) registry(doing string, plainHTTP bool) oci.Client {
	return oci.Client{PlainHTTP: plainHTTP, Transfer: httpretry.Options{Progress: a.transferProgress(doing)}}
}

// transferProgress shows how far a transfer is.
func (a app) transferProgress(doing string) httpretry.Progress {
	return func(done, total int64) {
		a.UI.Show(string(event.StagePlugin), doing)
		a.UI.Moved(string(event.StagePlugin), done, total)
	}
}

func (a app) pluginStore() (*store.Store, error) {
	e, err := a.Engine()
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

func (a app) installPlugin(ctx context.Context, ref string, n installing) error {
	if _, err := oci.Resolve(ref); err != nil {
		return cli.Usagef("%v", err)
	}
	i, err := a.installer(ctx, n)
	if err != nil {
		return err
	}
	a.transferProgress("fetching "+ref)(0, 0)
	plan, err := i.Plan(ctx, plugins.Request{Ref: ref, LockDir: n.lockFolder()})
	if err != nil {
		return pluginError(err)
	}
	result, err := a.confirmInstall(ctx, i, plan, n)
	if err != nil {
		return err
	}
	return a.Print(result, func(io.Writer) error { return nil })
}

// installLocked installs what the lock of the folder names.
func (a app) installLocked(ctx context.Context, n installing) error {
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
	var refused, declined error
	for _, plan := range plans {
		result, err := a.confirmInstall(ctx, i, plan, n)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var no *cli.ExitError
		switch {
		case errors.As(err, &no):
			declined = err
			continue
		case err != nil:
			refused = errors.Join(refused, err)
			continue
		}
		results = append(results, result)
	}
	if err := a.Print(results, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	return declined
}

// confirmInstall shows a plan, asks where that is needed, and makes it hold.
func (a app) confirmInstall(ctx context.Context, i plugins.Installer, plan *plugins.Plan, n installing) (plugins.Result, error) {
	if !a.JSON {
		a.showPlan(plan)
	}
	no := false
	consent := plugins.Consent{Hash: n.grant, Only: n.only, By: "--grant"}
	if plan.NeedsGrant && n.grant == "" {
		yes, err := a.UI.Confirm(ctx, "Install it, and allow this?")
		switch {
		case errors.Is(err, term.ErrNotATerminal):
		case err != nil:
			return plugins.Result{}, err
		case yes:
			consent = plugins.Consent{Hash: plan.Hash, Only: n.only, By: "you"}
		default:
			no = true
		}
	}
	result, err := i.Apply(ctx, plan, consent)
	var missing *plugins.GrantError
	if no && errors.As(err, &missing) {
		return result, a.Declined("Nothing was installed.")
	}
	if err != nil {
		return result, pluginError(err)
	}
	what := plan.ID + " " + plan.Version
	switch {
	case result.Pending:
		a.UI.Tell("%s is stored and waits; %s stays in use. Say yes: seer plugin grant %s", what, plan.Active.Version, plan.ID)
	case result.Lock != "":
		a.UI.Tell("Installed %s; noted in %s", what, result.Lock)
	default:
		a.UI.Tell("Installed %s", what)
	}
	return result, nil
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
