package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"time"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/environment"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/engine/veil"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/sdk"
)

// runtimePort is where the runtime listens on a machine that has ports.
const runtimePort = 8717

// How long a machine that runs may take to answer. A rented one may have an image to
// fetch, and waits as long for us.
const (
	bootTimeout       = 2 * time.Minute
	rentedBootTimeout = 10 * time.Minute
)

// endTimeout bounds the ending of a sandbox whose start has failed.
const endTimeout = time.Minute

// furnishing is how long a machine outlives a program that dies while it fills it. Only
// a sandbox that is whole gets a lease of its own.
const furnishing = 2 * time.Minute

// UpOptions say how a sandbox is made.
type UpOptions struct {
	// Name is another way to find the sandbox. Two live sandboxes cannot have the same
	// one. Empty = none.
	Name string
	// Attached is how long the sandbox outlives the program that made it. The
	// sandbox keeps the lease alive until it is closed. 0 = a detached lease, which
	// lasts for the experiment's timeout.
	Attached time.Duration
	// Snapshot is the name or ID of one whose files are put into the sandbox; empty = none.
	// Keys, ports and processes are the new sandbox's own.
	Snapshot string
	CheckOptions
	Progress Progress
}

// Up makes the sandbox of an experiment: the machine, the runtime on it, the
// models, files, variables and secrets. It serves nothing; see [Sandbox.Serve].
// Everything that can be checked is checked first. When Up fails or ctx ends, what
// was rented has been ended.
func (e *Engine) Up(ctx context.Context, exp *experiment.Experiment, o UpOptions) (*Sandbox, error) {
	u := &up{engine: e, exp: withMode(exp), opts: o, report: reporter{e.now, o.Progress}}
	if store, saved, err := u.processes(ctx); err != nil || store != nil {
		if err != nil {
			return nil, err
		}
		s, err := u.wake(ctx, store, saved)
		return s, as(KindProvider, err)
	}
	if err := u.prepare(ctx); err != nil {
		return nil, err
	}
	if err := u.furnishHere(ctx); err != nil {
		return nil, as(KindProvider, err)
	}
	if err := u.start(ctx); err != nil {
		return nil, as(KindProvider, u.forgetSystem(err))
	}
	s, err := u.furnish(ctx)
	if err != nil {
		return nil, as(KindProvider, u.undo(ctx, err))
	}
	u.report.done(StageBoot, "sandbox %s is ready", s.id)
	return s, nil
}

// up is one run of [Engine.Up].
type up struct {
	engine *Engine
	exp    *experiment.Experiment
	opts   UpOptions
	report reporter

	plan    plan.Plan
	secrets map[string]string
	models  []machine.Model
	rec     machine.Record
	chosen  plan.Choice        // whose machine it became
	env     environment.Result // what was installed on it

	settings settings          // of the user, for what installs
	tokens   map[string]string // secrets that only open repositories
	layer    *layer            // what a machine of this computer is shown; nil = nothing
	building string            // the folder of a layer that this machine is made for; empty for a sandbox

	making     *sdk.Image // the system that this machine is made for; nil for a sandbox
	system     string     // saved system that it starts from; empty = as the plan has it
	systemNote string     // where the cache notes that

	hidden veil.Words          // the names of hidden models, where the agent has the whole sandbox
	vscode *codeserver.Program // of this computer; nil = the machine's own
	space  string              // the working folder as processes see it

	contents workspace.Workspace // what goes into the working folder
}

// prepare does everything that needs no machine.
func (u *up) prepare(ctx context.Context) error {
	if err := u.checkSnapshot(ctx); err != nil {
		return err
	}
	u.report.info(StagePreflight, "checking %s", u.exp.Name)
	u.engine.announce(ctx, u.exp.Sandbox.Providers, u.report)
	report, err := u.engine.Check(ctx, u.exp, u.opts.CheckOptions)
	if err != nil {
		return err
	}
	if u.plan, err = plan.Make(u.exp, report); err != nil {
		return as(KindConfig, err)
	}
	for _, w := range u.plan.Warnings {
		u.report.warn(StagePreflight, "%s", w)
	}
	for _, c := range u.plan.Choices {
		if !c.HostMounts { // what it is shows when it answers; nearly all are this
			_, err = u.engine.runtimeBinary("linux", "amd64")
		} else {
			_, err = u.engine.runtimeBinary(runtime.GOOS, runtime.GOARCH)
		}
		if err != nil {
			return err
		}
	}
	env, err := u.engine.env(u.exp)
	if err != nil {
		return as(KindConfig, err)
	}
	u.secrets, u.tokens = map[string]string{}, map[string]string{}
	for _, name := range u.exp.Sandbox.Secrets {
		value, _, _ := env.Lookup(name)
		if withheld(u.plan.Repos, name) {
			u.tokens[name] = value
		} else {
			u.secrets[name] = value
		}
	}
	u.settings = u.engine.installerSettings(env, u.exp.Sandbox.Env)
	if u.layer, err = u.engine.planLayer(&u.plan, u.settings); err != nil {
		return as(KindConfig, err)
	}
	if err := u.readWorkspace(); err != nil {
		return err
	}
	if err := u.findVSCode(); err != nil {
		return as(KindConfig, err)
	}
	if err := u.fetchModels(ctx); err != nil {
		return as(KindConfig, err)
	}
	return as(KindConfig, u.veil(ctx))
}

func (u *up) fetchModels(ctx context.Context) error {
	for i, m := range u.exp.Sandbox.Weights() {
		u.report.info(StageModel, "resolving %s", m.Name)
		got, err := u.engine.fetchModel(ctx, m)
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		p := u.plan.Models[i]
		u.models = append(u.models, machine.Model{
			Name: m.Name, Path: p.Path, Source: m.Source, Local: got.Dir, Revision: got.Revision,
			VarName: m.VarName, EnvName: p.Env, Hidden: m.Hidden,
		})
		u.report.done(StageModel, "%s: %s, %s", m.Name, countText(len(got.Files), "file"), bytesText(got.Bytes))
	}
	return nil
}

// fetchModel finds a model's files and brings them to this computer, where they
// are not here already.
func (e *Engine) fetchModel(ctx context.Context, m experiment.Model) (fetch.Model, error) {
	var folders []string
	if m.Path != "" {
		folders = []string{m.Path}
	}
	fetcher, err := e.fetcher(ctx, m.Source, folders...)
	if err != nil {
		return fetch.Model{}, err
	}
	cache, err := e.store.Cache("models")
	if err != nil {
		return fetch.Model{}, err
	}
	return fetch.Fetch(ctx, fetcher, m.Ref(), fetch.Options{CacheDir: cache, Folders: folders})
}

// start rents the machine.
func (u *up) start(ctx context.Context) error {
	e := u.engine
	r := machine.NewRecord()
	r.Name, r.Network = u.opts.Name, u.plan.Network
	r.MaxPrice, r.Budget = u.exp.Sandbox.MaxPrice, u.exp.Sandbox.Budget
	r.AdminToken, r.ExperimentFile, r.Models, r.Lease = protocol.NewToken(), u.exp.File, u.models, u.lease()
	r.Owner = e.ledger.Owner()
	if err := u.noteMode(&r); err != nil {
		return err
	}
	var choices []machine.Choice
	for _, c := range u.plan.Choices {
		choice, err := u.choice(c, r)
		if err != nil {
			return err
		}
		choices = append(choices, choice)
	}
	isolated := ""
	if u.plan.Isolation != "" {
		isolated = ", isolation " + u.plan.Isolation
	}
	u.report.info(StageMachine, "starting a machine on %s%s", u.plan.Provider, isolated)
	var err error
	u.rec, err = e.driver.Start(ctx, r, choices, func(ev machine.Event) {
		if ev.Text == "" {
			return
		}
		if ev.Kind == machine.EventLog {
			u.report.log(StageMachine, ev.Text)
		} else {
			u.report.info(StageMachine, "%s", ev.Text)
		}
	})
	for _, c := range u.plan.Choices { // what matters of it is the same for all of a provider
		if c.Provider == u.rec.Provider {
			u.chosen = c
		}
	}
	return err
}

func (u *up) lease() machine.Lease {
	idle := int64(u.exp.Sandbox.IdleTimeout / time.Second)
	l := machine.NewLease(machine.Attached, u.attached(), u.engine.now())
	l.IdleSeconds = idle
	return l
}

// attached is how long the machine lives without a sign of this program, until it is
// furnished.
func (u *up) attached() time.Duration {
	if u.opts.Attached > 0 {
		return u.opts.Attached
	}
	return min(furnishing, u.exp.Sandbox.Timeout)
}

// choice is what the driver needs to know of one.
func (u *up) choice(c plan.Choice, r machine.Record) (machine.Choice, error) {
	python, search, boot := "python3", "", loader.Boot{
		Listen: fmt.Sprintf("tcp:0.0.0.0:%d", runtimePort), AdminSHA256: protocol.HashToken(r.AdminToken),
		BootSeconds: rentedBootTimeout.Seconds(), Cache: u.diskCache(),
	}
	if c.HostMounts {
		boot.BootSeconds, boot.Cache = bootTimeout.Seconds(), ""
	}
	var mounts []sdk.Mount
	if c.HostMounts {
		var err error
		if mounts, err = u.mounts(c); err != nil {
			return machine.Choice{}, err
		}
	}
	spec := u.plan.Spec(c)
	u.listen(&spec, c)
	hostPython := spec.Image == nil
	if c.HostMounts && !c.BuildsImage {
		spec.Image = u.startsFrom(spec.Image)
	}
	if c.Provider == localName && hostPython {
		interpreter, err := u.engine.interpreter(u.plan.Python)
		if err != nil {
			return machine.Choice{}, err
		}
		python = interpreter.Executable
		if u.plan.Python != "" {
			mounts, search = append(mounts, shown(interpreter, c)...), interpreter.SearchPath()
		}
	}
	spec.Name, spec.Command, spec.Port = r.Name, loader.Command(python), runtimePort
	spec.Mounts = mounts
	return machine.Choice{
		Provider: c.Provider, Spec: spec, Isolation: c.Isolation, GPU: c.GPU, Region: c.Region, CostPerHour: costOf(c),
		Poll: time.Duration(c.PollSeconds * float64(time.Second)),
		Prepare: func(spec *sdk.MachineSpec) (err error) {
			boot.EndUnix, boot.Machine = spec.EndUnix, spec.Key
			if spec.Env, err = loader.BootEnv(boot); err == nil && search != "" {
				spec.Env["PATH"] = search
			}
			return err
		},
	}, nil
}

func costOf(c plan.Choice) float64 {
	if c.CostPerHour == nil {
		return 0
	}
	return *c.CostPerHour
}

// mounts are the folders and files of this computer that a local machine is shown.
func (u *up) mounts(c plan.Choice) ([]sdk.Mount, error) {
	if u.building != "" {
		return u.buildMounts()
	}
	var mounts []sdk.Mount
	if u.layer != nil && layered(c) {
		mounts = append(mounts, sdk.Mount{Source: u.layer.dir, Target: layerPath})
	}
	for _, m := range u.models {
		mounts = append(mounts, sdk.Mount{Source: m.Local, Target: m.Path})
	}
	if u.vscode != nil && c.Isolation != "none" {
		mounts = append(mounts, u.vscode.Mounts()...)
	}
	for _, up := range u.plan.UploadsOf(c) {
		if up.Mount {
			mounts = append(mounts, sdk.Mount{Source: up.Local, Target: up.Remote})
		}
	}
	return mounts, nil
}

// diskCache is a folder on a disk that outlives the machine, where there is one.
func (u *up) diskCache() string {
	for _, v := range u.exp.Sandbox.Volumes {
		if !v.ReadOnly {
			return path.Join(v.Path, ".seer")
		}
	}
	return ""
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
	u.report.info(StageBoot, "booting the runtime")
	limit := rentedBootTimeout
	if u.chosen.HostMounts {
		limit = bootTimeout
	}
	// The ledger's lease began before the machine did, and a boot may outlast it.
	s.beat(ctx, u.rec, u.attached(), u.exp.Sandbox.IdleTimeout)
	if err := u.settle(ctx, s, limit); err != nil {
		s.stopHeartbeat()
		return nil, err
	}
	return s, nil
}

// settle boots the runtime and equips the sandbox, which then gets the lease that was
// asked for.
func (u *up) settle(ctx context.Context, s *Sandbox, limit time.Duration) error {
	boot, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := s.runtime.Boot(boot, protocol.BootOptions{Binary: u.engine.runtimeBinary}); err != nil {
		return err
	}
	if err := s.putLease(ctx, u.rec, machine.Attached, u.attached(), u.exp.Sandbox.IdleTimeout); err != nil {
		return err
	}
	s.booted.Store(true)
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
	changed, err := u.install(ctx, s)
	if err != nil || u.building != "" {
		return err
	}
	if changed {
		if err := s.runtime.PutConfig(ctx, u.config()); err != nil {
			return err
		}
	}
	if err := u.restore(ctx, s); err != nil {
		return err
	}
	if err := u.upload(ctx, s); err != nil {
		return err
	}
	return u.session(ctx, s)
}

func (u *up) config() protocol.Config {
	if u.building != "" { // it sees nothing of the sandbox's
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
	if u.space != "" {
		c.Env["SEER_WORKSPACE"] = u.space
	}
	return c
}

func (u *up) upload(ctx context.Context, s *Sandbox) error {
	if !u.chosen.HostMounts {
		for _, m := range u.models {
			u.report.info(StageUpload, "%s → %s", m.Name, m.Path)
			if err := s.runtime.Upload(ctx, m.Local, m.Path); err != nil {
				return fmt.Errorf("upload the model %s: %w", m.Name, err)
			}
		}
	}
	for _, up := range u.plan.UploadsOf(u.chosen) {
		if up.Mount {
			continue
		}
		u.report.info(StageUpload, "%s → %s", up.Local, up.Remote)
		if err := s.runtime.Upload(ctx, up.Local, up.Remote); err != nil {
			return fmt.Errorf("upload %s: %w", up.Local, err)
		}
	}
	return nil
}

// whileItLives is a context that also ends when the machine does, whose requests
// would otherwise be tried again for minutes.
func (u *up) whileItLives(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	pause := 10 * time.Second
	if u.engine.cheap(u.rec.Provider) {
		pause = time.Second
	}
	go func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if u.ended(ctx) != nil {
				cancel()
				return
			}
		}
	}()
	return ctx, cancel
}

// explain puts the end of the machine in the place of what it led to.
func (u *up) explain(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := u.ended(ctx); err != nil {
		return err
	}
	return cause
}

// ended is nil unless the machine is known to have ended.
func (u *up) ended(ctx context.Context) error {
	if err := u.engine.ended(ctx, u.rec); err != nil {
		return &Error{KindProvider, fmt.Errorf("while it was started, %w", err)}
	}
	return nil
}

// ended is nil unless the machine of a record that lives is known to have ended.
func (e *Engine) ended(ctx context.Context, r machine.Record) error {
	p, err := e.provider(ctx, r.Provider)
	if err != nil {
		return nil
	}
	seen, err := p.Observe(ctx, []string{r.Handle})
	if err != nil || len(seen) != 1 || seen[0].State.Live() {
		return nil
	}
	return &Error{KindProvider, fmt.Errorf("the machine ended: %s", orText(seen[0].Message, "its provider does not say why"))}
}

// undo ends a sandbox whose start has failed. The start's own context may be the
// reason of the failure, so it is not used.
func (u *up) undo(ctx context.Context, cause error) error {
	u.report.info(StageEnd, "the start failed; ending what was rented")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	why := cause.Error()
	if errors.Is(cause, context.Canceled) {
		why = "the start was cancelled"
	}
	_, err := u.engine.driver.End(ctx, u.rec, why)
	return errors.Join(cause, err)
}

func countText(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func bytesText(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < 4 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[prefix])
}
