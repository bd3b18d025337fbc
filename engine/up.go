package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/progress"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/internal/text"
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
	if err := u.installation.Ensure(ctx, buildMachines{u}); err != nil {
		return nil, as(KindProvider, err)
	}
	if err := u.start(ctx); err != nil {
		return nil, as(KindProvider, u.installation.Forget(err))
	}
	s, err := u.furnish(ctx)
	if err != nil {
		return nil, as(KindProvider, u.undo(ctx, err))
	}
	u.report.Done(StageBoot, "sandbox %s is ready", s.id)
	e.collector().PruneDaily(ctx)
	return s, nil
}

// up is one run of [Engine.Up].
type up struct {
	engine *Engine
	exp    *experiment.Experiment
	opts   UpOptions
	report progress.Reporter

	plan           plan.Plan
	secrets        map[string]string
	models         []machine.Model
	rec            machine.Record
	chosen         plan.Choice       // whose machine it became
	unexposedPorts bool              // no way leads to the session's ports but the runtime's
	env            pkginstall.Result // what was installed on it

	installation *build.Installation // what is to be installed, and what has been built for it
	building     *build.Machine      // what this machine is made for; nil for a sandbox

	// install is done on a machine that builds, instead of all that a sandbox gets.
	install func(context.Context, *client.Client, machine.Record) error

	hidden namesearch.Names    // the names of hidden models, where the agent has the whole sandbox
	vscode *codeserver.Program // of this computer; nil = the machine's own
	folder string              // the working folder as processes see it

	contents workspace.Workspace // what goes into the working folder
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
	return as(KindConfig, u.veil(ctx))
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

func (u *up) fetchModels(ctx context.Context) error {
	for i, m := range u.exp.Sandbox.Weights() {
		u.report.Info(StageModel, "resolving %s", m.Name)
		got, err := u.engine.fetchModel(ctx, m, func(done, total int64) { u.report.Moved(StageModel, done, total) })
		if err == nil {
			err = u.checkModel(i, got.Dir)
		}
		if err != nil {
			return u.modelError(i, m, err)
		}
		p := u.plan.Models[i]
		u.models = append(u.models, machine.Model{
			Name: m.Name, Path: p.Path, Source: m.Source, Local: got.Dir, Revision: got.Revision,
			VarName: m.VarName, EnvName: p.Env, Hidden: m.Hidden, IsPEFT: m.IsPEFT, Base: m.BaseModel,
		})
		u.report.Done(StageModel, "%s: %s, %s", m.Name, text.Plural(len(got.Files), "file"), text.Bytes(got.Bytes))
	}
	return nil
}

// fetchModel finds a model's files and brings them to this computer, where they
// are not here already. moved is told how far that is.
func (e *Engine) fetchModel(ctx context.Context, m experiment.Model, moved func(done, total int64)) (fetch.Model, error) {
	var folders []string
	if m.Path != "" {
		folders = []string{m.Path}
	}
	fetcher, err := e.plugins.Fetcher(ctx, m.Source, folders...)
	if err != nil {
		return fetch.Model{}, err
	}
	cache, err := e.store.Cache("models")
	if err != nil {
		return fetch.Model{}, err
	}
	return fetch.Fetch(ctx, fetcher, m.Ref(), fetch.Options{CacheDir: cache, Folders: folders, Progress: moved})
}

// furnish boots the runtime and puts everything into the sandbox. It is given up
// when the machine ends.
func (u *up) furnish(ctx context.Context) (*Sandbox, error) {
	living, stop := u.whileItLives(ctx)
	defer stop()
	s, err := u.fill(living)
	if err != nil && ctx.Err() == nil {
		err = u.explain(ctx, err)
	}
	return s, err
}

func (u *up) fill(ctx context.Context) (*Sandbox, error) {
	s, err := u.engine.open(u.rec)
	if err != nil {
		return nil, err
	}
	u.report.Info(StageBoot, "booting the runtime")
	limit := provision.RentedBootTimeout
	if u.chosen.HostMounts {
		limit = provision.BootTimeout
	}
	// The ledger's lease began before the machine did, and a boot may outlast it.
	s.lease.Start(ctx, u.rec, u.attached(), u.exp.Sandbox.IdleTimeout)
	if err := u.settle(ctx, s, limit); err != nil {
		s.lease.Stop()
		return nil, err
	}
	return s, nil
}

// settle boots the runtime and equips the sandbox, which then gets the lease that was
// asked for.
func (u *up) settle(ctx context.Context, s *Sandbox, limit time.Duration) error {
	boot, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := s.runtime.Boot(boot, client.BootOptions{Binary: u.engine.paths.RuntimeBinary}); err != nil {
		return err
	}
	if err := s.lease.Put(ctx, u.rec, machine.Attached, u.attached(), u.exp.Sandbox.IdleTimeout); err != nil {
		return err
	}
	s.lease.Booted()
	if err := s.runtime.PutConfig(ctx, u.config()); err != nil {
		return err
	}
	if err := u.equip(ctx, s); err != nil || u.opts.Attached > 0 {
		return err
	}
	return s.Detach(ctx, u.exp.Sandbox.Timeout)
}

// equip installs and uploads what the experiment wants to have on the machine.
func (u *up) equip(ctx context.Context, s *Sandbox) error {
	if u.building != nil {
		return u.install(ctx, s.runtime, u.rec)
	}
	env, changed, err := u.installation.Install(ctx, build.Target{Sandbox: s.id, Choice: u.chosen, Runtime: s.runtime, Cache: u.diskCache()})
	if err != nil {
		return err
	}
	u.env = env
	if changed {
		if err := s.runtime.PutConfig(ctx, u.config()); err != nil {
			return err
		}
	}
	if err := u.upload(ctx, s); err != nil {
		return err
	}
	if err := u.restore(ctx, s); err != nil {
		return err
	}
	return u.session(ctx, s)
}

func (u *up) config() protocol.Config {
	if u.building != nil { // it sees nothing of the sandbox's
		return protocol.Config{Workdir: "/workspace"}
	}
	c := protocol.Config{Env: map[string]string{}, Secrets: u.secrets, Workdir: "/workspace", Python: u.env.Python, Price: cmp.Or(u.rec.CostPerHour, costOf(u.chosen))}
	maps.Copy(c.Env, u.env.Env)
	maps.Copy(c.Env, u.exp.Sandbox.Env)
	for _, m := range u.models {
		c.Models = append(c.Models, u.unhidden(protocol.Model{
			Name: m.Name, Path: m.Path, EnvName: m.EnvName, Revision: m.Revision, VarName: m.VarName, Hidden: m.Hidden,
		}))
	}
	if u.folder != "" {
		c.Env["SEER_WORKSPACE"] = u.folder
	}
	return c
}

func (u *up) upload(ctx context.Context, s *Sandbox) error {
	if !u.chosen.HostMounts {
		for _, m := range u.models {
			u.report.Info(StageUpload, "%s → %s", m.Name, m.Path)
			if err := u.send(ctx, s, m.Local, m.Path); err != nil {
				return fmt.Errorf("upload the model %s: %w", m.Name, err)
			}
		}
	}
	for _, up := range u.plan.UploadsOf(u.chosen) {
		if up.Mount || u.cleared(up.Remote) {
			continue
		}
		u.report.Info(StageUpload, "%s → %s", up.Local, up.Remote)
		err := u.send(ctx, s, up.Local, up.Remote)
		var partial *tartree.PartialError
		if errors.As(err, &partial) && protocol.CodeOf(err) == protocol.NotFound { // as if it had never been there
			u.report.Warn(StageUpload, "upload %s: %v", up.Local, err)
			err = nil
		}
		if err != nil {
			return fmt.Errorf("upload %s: %w", up.Local, err)
		}
	}
	return nil
}
