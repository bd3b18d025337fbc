package engine

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/progress"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/engine/workspace"
)

// UpOptions say how a sandbox is made.
type UpOptions struct {
	// Name is another way to find the sandbox. Two live sandboxes cannot have the same
	// one. Empty = none.
	Name string
	// Attached is how long the sandbox outlives the program that made it. The
	// sandbox keeps the lease alive until it is closed. 0 = a detached lease, which
	// lasts for the experiment's timeout.
	Attached time.Duration
	// Snapshot is the name or ID of one whose files are put into the sandbox, in the place of
	// those of the experiment; empty = none.
	// Keys, ports and processes are the new sandbox's own.
	Snapshot string
	// Agent says that the caller will run the experiment's agent on this computer. Its
	// effects are then confirmed together with those of the sandbox.
	Agent bool
	// Confirmed is called once the user has confirmed the effects, before anything is rented,
	// built or started. Its error ends the start.
	Confirmed func() error
	CheckOptions
	Progress Progress
}

// Up makes the sandbox of an experiment: the machine, the runtime on it, the
// models, files, variables and secrets. It serves nothing; see [Sandbox.Serve].
// Everything that can be checked is checked first. When Up fails or ctx ends, what
// was rented has been ended.
func (e *Engine) Up(ctx context.Context, exp *experiment.Experiment, o UpOptions) (*Sandbox, error) {
	if err := e.plugins.Usable(); err != nil {
		return nil, err
	}
	u := &up{engine: e, exp: withMode(exp), opts: o, report: e.reporter(o.Progress)}
	if store, saved, err := u.processes(ctx); err != nil || store != nil {
		if err != nil {
			return nil, err
		}
		s, err := u.restoreProcesses(ctx, store, saved)
		return s, as(KindProvider, err)
	}
	if err := u.prepare(ctx); err != nil {
		return nil, err
	}
	m, err := e.provisioner().Start(ctx, u.request())
	if err != nil {
		return nil, as(KindProvider, err)
	}
	u.report.Done(StageBoot, "sandbox %s is ready", m.Record.ID)
	e.collector().PruneDaily(ctx)
	return e.sandbox(m), nil
}

// provisioner makes sandboxes of machines.
func (e *Engine) provisioner() provision.Provisioner {
	return provision.Provisioner{
		Driver: e.driver, Ledger: e.ledger, Connect: e.connector().Connect, Observer: e.observer(), Native: e.plugins.Native,
		RuntimeBinary: e.paths.RuntimeBinary, Python: e.python.At, Bytecode: e.python.Notebook, Now: e.now,
	}
}

// up prepares one run of [Engine.Up]: all that needs no machine.
type up struct {
	engine *Engine
	exp    *experiment.Experiment
	opts   UpOptions
	report progress.Reporter

	plan         plan.Plan
	secrets      map[string]string
	models       []machine.Model
	installation *build.Installation // what is to be installed
	hidden       namesearch.Names    // the names of hidden models, where the agent has the whole sandbox
	vscode       *codeserver.Program // of this computer; nil = the machine's own
	contents     workspace.Workspace // what goes into the working folder
	snapshots    *snapshot.Store
}

// request is what has been prepared.
func (u *up) request() provision.Request {
	return provision.Request{
		Experiment: u.exp, Plan: u.plan, Name: u.opts.Name, Attached: u.opts.Attached, Models: u.models, Secrets: u.secrets, Hidden: u.hidden,
		Installation: u.installation, Contents: u.contents,
		CodeServer: session.CodeServer{Program: u.vscode, SHA256: u.engine.getenv(codeserver.PinnedIn)},
		Snapshots:  u.snapshots, Snapshot: u.opts.Snapshot, Scan: u.scan, Report: u.report,
	}
}

// prepare does everything that needs no machine.
func (u *up) prepare(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		u.checkSnapshot, u.inherit, u.check, u.findRuntimes, u.readSettings, u.confirm, u.confirmed, u.readContents,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := u.fetchModels(ctx); err != nil {
		return as(KindConfig, err)
	}
	return as(KindConfig, u.hideNames(ctx))
}

// check finds everything that would stop the start, and decides what is rented.
func (u *up) check(ctx context.Context) error {
	u.report.Info(StagePreflight, "checking %s", u.exp.Name)
	u.engine.plugins.Announce(ctx, u.exp.Sandbox.Providers, u.report)
	report, err := u.engine.check(ctx, u.exp, u.opts.CheckOptions)
	if err != nil {
		return err
	}
	if u.plan, err = plan.Make(u.exp, report); err != nil {
		return as(KindConfig, err)
	}
	for i, w := range u.plan.Warnings {
		var remedies []remedy.Remedy
		if i == len(u.plan.Warnings)-1 { // those of all
			remedies = u.plan.Remedies
		}
		u.report.Advise(StagePreflight, remedies, w)
	}
	return nil
}

// findRuntimes finds the program for each machine that may be rented.
func (u *up) findRuntimes(context.Context) error {
	for _, c := range u.plan.Choices {
		system, arch := "linux", "amd64" // what a rented one is shows when it answers; nearly all are this
		if c.HostMounts {
			system, arch = runtime.GOOS, runtime.GOARCH
		}
		if _, err := u.engine.paths.RuntimeBinary(system, arch); err != nil {
			return err
		}
	}
	return nil
}

// readSettings reads the secrets, and the user's settings for what installs.
func (u *up) readSettings(context.Context) error {
	env, err := u.engine.facts().Env(u.exp)
	if err != nil {
		return as(KindConfig, err)
	}
	u.secrets = map[string]string{}
	tokens := map[string]string{}
	for _, name := range u.exp.Sandbox.Secrets {
		value, _, _ := env.Lookup(name)
		if u.plan.Withheld(name) {
			tokens[name] = value
		} else {
			u.secrets[name] = value
		}
	}
	settings, err := u.engine.builder.Settings(env, u.exp)
	if err != nil {
		return err
	}
	u.installation, err = u.engine.builder.Plan(&u.plan, build.Request{Experiment: u.exp, Settings: settings, Tokens: tokens, Report: u.report})
	return as(KindConfig, err)
}

// confirmed says that the user has confirmed what has to be.
func (u *up) confirmed(context.Context) error {
	if u.opts.Confirmed == nil {
		return nil
	}
	return u.opts.Confirmed()
}

// readContents finds what is put into the sandbox.
func (u *up) readContents(context.Context) error {
	if err := u.readWorkspace(); err != nil {
		return err
	}
	return as(KindConfig, u.findVSCode())
}

// WorkspaceOf reads what an experiment puts into workspaces.
func WorkspaceOf(exp *experiment.Experiment) (workspace.Workspace, error) {
	w := exp.Workspace
	read, err := workspace.Load(workspace.Sources{
		Libraries: w.Libraries, Skills: w.Skills, SkillDirs: w.SkillDirs, Files: w.Files, Dirs: w.Dirs, Init: w.Init,
		PreloadModels: !w.NoPreload, HiddenModelLoading: !w.ShowsLoading,
	})
	return read, as(KindConfig, err)
}

// readWorkspace reads it before anything is rented.
func (u *up) readWorkspace() (err error) {
	u.contents, err = WorkspaceOf(u.exp)
	return err
}

// findVSCode finds the code-server that a machine of this computer is shown.
func (u *up) findVSCode() error {
	if !u.exp.Sandbox.Debug || !slices.ContainsFunc(u.plan.Choices, func(c plan.Choice) bool { return c.HostMounts }) {
		return nil
	}
	found, err := u.engine.findCodeServer()
	if err == nil {
		u.vscode = &found
	}
	return err
}

func (u *up) fetchModels(ctx context.Context) (err error) {
	models := provision.Models{Fetcher: u.engine.plugins.Fetcher, Cache: func() (string, error) { return u.engine.store.Cache("models") }, Report: u.report}
	u.models, err = models.Fetch(ctx, u.exp, u.plan.Models)
	return err
}

// inherit gives the experiment the isolation and the network of the snapshot that it starts
// from, where it names none itself.
func (u *up) inherit(ctx context.Context) error {
	saved, err := u.snapshot(ctx)
	if saved != nil {
		u.exp, err = files.Inherit(u.exp, *saved, u.report)
	}
	return err
}

// checkSnapshot finds the snapshot before anything is rented.
func (u *up) checkSnapshot(ctx context.Context) error {
	saved, err := u.snapshot(ctx)
	if saved != nil && saved.Damaged != "" {
		return files.Unusable(u.opts.Snapshot, *saved)
	}
	return err
}

// snapshot is what the sandbox starts from; nil = nothing.
func (u *up) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if u.opts.Snapshot == "" {
		return nil, nil
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return nil, err
	}
	u.snapshots = store
	saved, err := store.Get(ctx, u.opts.Snapshot)
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	return &saved, nil
}
