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
	p := &preparation{engine: e, exp: withMode(exp), opts: o, report: e.reporter(o.Progress)}
	if store, saved, err := p.processes(ctx); err != nil || store != nil {
		if err != nil {
			return nil, err
		}
		s, err := p.restoreProcesses(ctx, store, saved)
		return s, as(KindProvider, err)
	}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	m, err := e.provisioner().Start(ctx, p.request())
	if err != nil {
		return nil, as(KindProvider, err)
	}
	p.report.Done(StageBoot, "sandbox %s is ready", m.Record.ID)
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

// preparation is the part of [Engine.Up] that needs no machine: it checks, asks and fetches.
type preparation struct {
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
func (p *preparation) request() provision.Request {
	return provision.Request{
		Experiment: p.exp, Plan: p.plan, Name: p.opts.Name, Attached: p.opts.Attached, Models: p.models, Secrets: p.secrets, Hidden: p.hidden,
		Installation: p.installation, Contents: p.contents,
		CodeServer: session.CodeServer{Program: p.vscode, SHA256: p.engine.getenv(codeserver.PinnedIn)},
		Snapshots:  p.snapshots, Snapshot: p.opts.Snapshot, Scan: p.scan, Report: p.report,
	}
}

// prepare does everything that needs no machine.
func (p *preparation) prepare(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		p.checkSnapshot, p.inherit, p.check, p.findRuntimes, p.readSettings, p.confirm, p.confirmed, p.readContents,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := p.fetchModels(ctx); err != nil {
		return as(KindConfig, err)
	}
	return as(KindConfig, p.hideNames(ctx))
}

// check finds everything that would stop the start, and decides what is rented.
func (p *preparation) check(ctx context.Context) error {
	p.report.Info(StagePreflight, "checking %s", p.exp.Name)
	p.engine.plugins.Announce(ctx, p.exp.Sandbox.Providers, p.report)
	report, err := p.engine.check(ctx, p.exp, p.opts.CheckOptions)
	if err != nil {
		return err
	}
	if p.plan, err = plan.Make(p.exp, report); err != nil {
		return as(KindConfig, err)
	}
	for i, w := range p.plan.Warnings {
		var remedies []remedy.Remedy
		if i == len(p.plan.Warnings)-1 { // those of all
			remedies = p.plan.Remedies
		}
		p.report.Advise(StagePreflight, remedies, w)
	}
	return nil
}

// findRuntimes finds the program for each machine that may be rented.
func (p *preparation) findRuntimes(context.Context) error {
	for _, c := range p.plan.Choices {
		system, arch := "linux", "amd64" // what a rented one is shows when it answers; nearly all are this
		if c.HostMounts {
			system, arch = runtime.GOOS, runtime.GOARCH
		}
		if _, err := p.engine.paths.RuntimeBinary(system, arch); err != nil {
			return err
		}
	}
	return nil
}

// readSettings reads the secrets, and the user's settings for what installs.
func (p *preparation) readSettings(context.Context) error {
	env, err := p.engine.facts().Env(p.exp)
	if err != nil {
		return as(KindConfig, err)
	}
	p.secrets = map[string]string{}
	tokens := map[string]string{}
	for _, name := range p.exp.Sandbox.Secrets {
		value, _, _ := env.Lookup(name)
		if p.plan.Withheld(name) {
			tokens[name] = value
		} else {
			p.secrets[name] = value
		}
	}
	settings, err := p.engine.builder.Settings(env, p.exp)
	if err != nil {
		return err
	}
	p.installation, err = p.engine.builder.Plan(&p.plan, build.Request{Experiment: p.exp, Settings: settings, Tokens: tokens, Report: p.report})
	return as(KindConfig, err)
}

// confirmed says that the user has confirmed what has to be.
func (p *preparation) confirmed(context.Context) error {
	if p.opts.Confirmed == nil {
		return nil
	}
	return p.opts.Confirmed()
}

// readContents finds what is put into the sandbox.
func (p *preparation) readContents(context.Context) error {
	if err := p.readWorkspace(); err != nil {
		return err
	}
	return as(KindConfig, p.findVSCode())
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
func (p *preparation) readWorkspace() (err error) {
	p.contents, err = WorkspaceOf(p.exp)
	return err
}

// findVSCode finds the code-server that a machine of this computer is shown.
func (p *preparation) findVSCode() error {
	if !p.exp.Sandbox.Debug || !slices.ContainsFunc(p.plan.Choices, func(c plan.Choice) bool { return c.HostMounts }) {
		return nil
	}
	found, err := p.engine.findCodeServer()
	if err == nil {
		p.vscode = &found
	}
	return err
}

func (p *preparation) fetchModels(ctx context.Context) (err error) {
	models := provision.Models{Fetcher: p.engine.plugins.Fetcher, Cache: func() (string, error) { return p.engine.store.Cache("models") }, Report: p.report}
	p.models, err = models.Fetch(ctx, p.exp, p.plan.Models)
	return err
}

// inherit gives the experiment the isolation and the network of the snapshot that it starts
// from, where it names none itself.
func (p *preparation) inherit(ctx context.Context) error {
	saved, err := p.snapshot(ctx)
	if saved != nil {
		p.exp, err = files.Inherit(p.exp, *saved, p.report)
	}
	return err
}

// checkSnapshot finds the snapshot before anything is rented.
func (p *preparation) checkSnapshot(ctx context.Context) error {
	saved, err := p.snapshot(ctx)
	if saved != nil && saved.Damaged != "" {
		return files.Unusable(p.opts.Snapshot, *saved)
	}
	return err
}

// snapshot is what the sandbox starts from; nil = nothing.
func (p *preparation) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if p.opts.Snapshot == "" {
		return nil, nil
	}
	store, err := p.engine.Snapshots()
	if err != nil {
		return nil, err
	}
	p.snapshots = store
	saved, err := store.Get(ctx, p.opts.Snapshot)
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	return &saved, nil
}
