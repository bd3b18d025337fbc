// Package build makes, once, what the machines of this computer start from: layers with the
// packages and repositories of an experiment, and file systems with its system packages and
// commands. It also installs on machines that can be shown nothing.
//
// The name of a result is derived from everything that the result depends on. Results lie in the
// cache, and all sandboxes that need the same result share it. A build machine is not a sandbox. It
// reaches the Internet and the user's own package servers. Of the sandbox, it has only the tokens
// that give access to its repositories.
package build

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/build/pipconfig"
	"github.com/seer-engine/seer/engine/build/wheels"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Timeout is how long a machine that builds may live: long enough to compile something
// large.
const Timeout = 6 * time.Hour

// Where a machine of this computer finds what was installed for it, and what it is shown
// while that is made.
const (
	layerPath  = "/seer/layer"
	basePath   = "/seer/base" // what an execution mode needs, for all experiments
	buildPath  = pipconfig.Folder
	wheelsPath = "/seer/build/wheels" // files that pip has downloaded before, read-only
	freshPath  = "/seer/build/fresh"  // and what it downloads now
)

// Builder builds for the starts of one engine. Its fields must be set.
type Builder struct {
	Store  *state.Store
	Now    func() time.Time
	Getenv func(string) string
	Python *pyenv.Finder

	// Undefended is for tests that show what the defences of builds are good for.
	Undefended bool
}

// Settings reads what the user and an experiment have set for pip and git.
func (b *Builder) Settings(env *preflight.Env, exp *experiment.Experiment) (pipconfig.Settings, error) {
	from := pipconfig.Source{Env: env, Getenv: b.Getenv, Own: exp.Sandbox.Env, Undefended: b.Undefended}
	if exp.File != "" {
		from.Folder = filepath.Dir(exp.File)
	}
	return pipconfig.Read(from)
}

func (b *Builder) wheels() wheels.Cache {
	return wheels.Cache{Store: b.Store, Undefended: b.Undefended}
}

// Machine describes a machine that only builds.
type Machine struct {
	Purpose string      // what it is made to build, for people
	Plan    plan.Plan   // with one choice
	Mounts  []sdk.Mount // all that it is shown
	Image   *sdk.Image  // what it starts from; nil = as planned
	Layer   string      // key of the layer that it needs; empty = none

	// Saved gets the provider's name of the machine's file system as soon as the provider has
	// saved it, before the machine ends: if this program is killed then, the name is noted. If
	// Saved is nil, nothing is saved.
	Saved func(name string) error
}

// Machines makes machines that only build.
type Machines interface {
	// Run makes a machine, calls install while it lives, and ends it. The machine has no
	// models, no session and no secrets.
	Run(ctx context.Context, m Machine, install func(context.Context, *client.Client, machine.Record) error) error
}

// Request says what a start wants to have installed.
type Request struct {
	Experiment *experiment.Experiment
	Settings   pipconfig.Settings
	Tokens     map[string]string // secrets that only open repositories
	Report     event.Reporter
}

// Installation is what one start has installed: in layers, in a saved file system, or on the
// sandbox itself. Nil has nothing.
type Installation struct {
	Request
	builder *Builder
	plan    plan.Plan
	layer   *layer // what a machine of this computer is shown; nil = nothing
	rootfs  rootFS // that it starts from
}

// Plan finds what has to be installed. It notes in the plan which layer there will be, and
// builds nothing.
func (b *Builder) Plan(p *plan.Plan, r Request) (*Installation, error) {
	l, err := b.planLayer(p, r.Settings)
	if err != nil {
		return nil, err
	}
	return &Installation{Request: r, builder: b, plan: *p, layer: l}, nil
}

// LayerKey names what the sandbox is shown of packages and repositories; empty = nothing.
func (i *Installation) LayerKey() string {
	if i == nil || i.layer == nil {
		return ""
	}
	return i.layer.key
}

// Mounts are what a sandbox on a machine is shown of layers.
func (i *Installation) Mounts(c plan.Choice) []sdk.Mount {
	if i == nil || !c.Layered() {
		return nil
	}
	return i.layer.mounts()
}

// Ensure builds what the machines of this computer start from and is not there yet, in the
// order in which each needs the other: the file system with its packages, the layers, the
// commands.
func (i *Installation) Ensure(ctx context.Context, m Machines) error {
	for _, c := range i.plan.Choices {
		if !c.HostMounts || c.BuildsImage {
			continue
		}
		b := &building{Installation: i, machines: m, choice: c}
		return b.ensure(ctx)
	}
	return nil
}

// building is one run of [Installation.Ensure].
type building struct {
	*Installation
	machines Machines
	choice   plan.Choice
}

func (b *building) ensure(ctx context.Context) error {
	image, rest := b.plan.ImageOf(b.choice)
	from := sdk.Image{}
	if image != nil {
		from = *image
		if err := b.builder.rootFSUsed(from.Snapshot); err != nil {
			return err
		}
	}
	if len(rest.SystemPackages) > 0 {
		want := from
		want.SystemPackages = rest.SystemPackages
		if err := b.ensureRootFS(ctx, want, ""); err != nil {
			return err
		}
		from = sdk.Image{Snapshot: b.rootfs.saved}
	}
	if err := b.ensureLayers(ctx); err != nil {
		return err
	}
	if len(rest.Commands) == 0 {
		return nil
	}
	want := from
	want.Commands = rest.Commands
	return b.ensureRootFS(ctx, want, b.LayerKey())
}

// run makes a machine that builds, of the same kind and isolation as the sandbox, but with
// the Internet and the user's own servers of packages, and without what is the sandbox's.
func (b *building) run(ctx context.Context, c plan.Choice, m Machine, install func(context.Context, *client.Client, *installLog) error, at *layer) (err error) {
	m.Plan = b.plan
	m.Plan.ExecutionMode = ""
	m.Plan.Network, m.Plan.NetworkHosts, m.Plan.Ports, m.Plan.Volumes = "open", nil, nil, nil
	m.Plan.HostPorts = b.Settings.HostPorts(b.plan.HostPorts)
	c.GPU, c.GPUCount, c.Timeout = "", 0, Timeout.Seconds()
	m.Plan.Choices = []plan.Choice{c}
	shown, done, err := b.Settings.Show(ctx, b.builder.privateFolder)
	if err != nil {
		return &errdefs.Error{Kind: errdefs.KindConfig, Err: err}
	}
	defer func() { err = errors.Join(err, done()) }()
	m.Mounts = append(m.Mounts, shown...)
	for _, r := range b.plan.Repos {
		if r.Folder != "" {
			m.Mounts = append(m.Mounts, sdk.Mount{Source: r.Folder, Target: repoMount(r)})
		}
	}
	return b.machines.Run(ctx, m, func(ctx context.Context, runtime *client.Client, rec machine.Record) error {
		log := b.newLog(rec.ID)
		return log.end(ctx, b.locate(install(ctx, runtime, log), at))
	})
}

func repoMount(r preflight.Repo) string { return buildPath + "/repos/" + r.Name }

// Target is a machine on which a sandbox is made.
type Target struct {
	Sandbox string // ID
	Choice  plan.Choice
	Runtime *client.Client
	Cache   string // a folder on a disk that outlives the machine; empty = none
}

// Install brings a sandbox what it needs of packages and clones: out of a layer, or onto
// the machine itself. Changed reports whether the machine's configuration must say so.
func (i *Installation) Install(ctx context.Context, t Target) (result pkginstall.Result, changed bool, err error) {
	log := i.newLog(t.Sandbox)
	result, changed, err = i.install(ctx, t, log)
	return result, changed, log.end(ctx, i.locate(err, nil))
}
