package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

// ensureLayers makes the layers that are not there yet.
func (u *up) ensureLayers(ctx context.Context) error {
	all := u.layer.all()
	for _, l := range slices.Backward(all) {
		if err := u.ensureLayer(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// ensureLayer makes a layer where it is not there yet. Of several programs that want
// it at once, one makes it and the others wait.
func (u *up) ensureLayer(ctx context.Context, l *layer) error {
	lock, err := u.lockLayer(ctx, l)
	if err != nil {
		return err
	}
	defer lock.Release()
	if there, err := l.there(); err != nil || there {
		return errors.Join(err, l.used(u.engine.now()))
	}
	partial := l.dir + cachegc.PartialSuffix
	if err := state.RemoveAll(partial); err != nil { // of one who was killed
		return err
	}
	if err := os.Mkdir(partial, 0o700); err != nil {
		return err
	}
	l.content = u.layerContent(l)
	u.report.Info(StageBoot, "%s; it is kept, and the next start has it", l.text())
	err = u.buildLayer(ctx, l, partial)
	if err == nil {
		err = l.note(ctx, partial)
	}
	if err == nil {
		err = os.Rename(partial, l.dir)
	}
	if err != nil {
		return errors.Join(err, state.RemoveAll(partial))
	}
	u.report.Info(StageBoot, "built %s", l.dir)
	return nil
}

// text says what is being made, and what for.
func (l *layer) text() string {
	switch {
	case l.at == basePath:
		return "installing Jupyter for notebook mode, once for this Python"
	case l.content == ownVenv:
		return "making a virtual environment, once for this Python"
	}
	return "building the layer of " + l.content
}

const ownVenv = "a virtual environment"

// layerContent is what is in it.
func (u *up) layerContent(l *layer) string {
	if l.at == basePath {
		return "Jupyter for notebook mode"
	}
	var parts []string
	_, own := ofMode(u.plan, l.packages, false)
	if n := len(own); n > 0 {
		parts = append(parts, text.Plural(n, "Python package"))
	}
	switch n := len(u.plan.Repos); n {
	case 0:
	case 1:
		parts = append(parts, "1 repository")
	default:
		parts = append(parts, fmt.Sprintf("%d repositories", n))
	}
	if len(parts) == 0 {
		return ownVenv
	}
	return strings.Join(parts, " and ")
}

func (u *up) lockLayer(ctx context.Context, l *layer) (*state.Lock, error) {
	dir, err := u.engine.store.Cache(layersDir, "locks")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, l.key)
	lock, held, err := state.TryAcquire(path)
	if err != nil || !held {
		return lock, err
	}
	u.report.Info(StageBoot, "another start is building the same layer; waiting for it")
	return state.Acquire(ctx, path)
}

// buildLayer installs into the folder. What pip has downloaded is kept for later builds,
// also when this one fails.
func (u *up) buildLayer(ctx context.Context, l *layer, folder string) error {
	cache := u.engine.wheels()
	dir, err := cache.Folder(u.settings.Indexes(), l.packages, u.installs(l))
	if err != nil {
		return err
	}
	fresh := l.dir + freshSuffix + cachegc.PartialSuffix // gc finds what a killed build leaves
	wheels, err := cache.Open(dir, fresh)
	if err != nil {
		return err
	}
	err = u.inBuildMachine(ctx, l.choice, func(b *up) {
		b.purpose, b.building, b.builds, b.layer = "the layer of "+l.content, folder, l, nil
		b.wheels = []sdk.Mount{{Source: wheels.Dir, Target: wheelsPath, Writable: u.engine.undefended}, {Source: fresh, Target: freshPath, Writable: true}}
	}, nil)
	if kept := wheels.Admit(ctx); kept != nil {
		u.report.Warn(StageBoot, "what pip downloaded is not kept for other builds: %v", kept)
	}
	return errors.Join(err, state.RemoveAll(fresh))
}

// installs are the commands of the repositories of a layer.
func (u *up) installs(l *layer) (commands []string) {
	if !l.repos {
		return nil
	}
	for _, r := range u.plan.Repos {
		commands = append(commands, r.Install)
	}
	return commands
}

// inBuildMachine makes a machine that only builds, and ends with it: of the same kind and
// isolation as the sandbox, but with the Internet and the user's own servers of packages, and without what is the sandbox's.
// then is called while it lives.
func (u *up) inBuildMachine(ctx context.Context, c plan.Choice, change func(b *up), then func(context.Context, machine.Record) error) (err error) {
	b, exp := *u, *u.exp
	exp.Sandbox.ExecutionMode, exp.Sandbox.Debug, exp.Sandbox.IdleTimeout = "", false, 0
	b.exp, b.plan.ExecutionMode, b.vscode = &exp, "", nil
	b.models, b.opts.Name, b.opts.Attached = nil, "", furnishing
	b.plan.Network, b.plan.NetworkHosts, b.plan.Ports, b.plan.Volumes = "open", nil, nil, nil
	b.plan.HostPorts = u.settings.HostPorts(u.plan.HostPorts)
	c.GPU, c.GPUCount, c.Timeout = "", 0, buildTimeout.Seconds()
	b.plan.Choices = []plan.Choice{c}
	change(&b)
	shown, done, err := u.settings.Show(ctx, u.engine.privateFolder)
	if err != nil {
		return &Error{Kind: KindConfig, Err: err}
	}
	b.shown = shown
	defer func() { err = errors.Join(err, done()) }()
	if err := b.start(ctx); err != nil {
		return err
	}
	s, err := b.furnish(ctx)
	if err == nil && then != nil {
		err = then(ctx, b.rec)
	}
	if err != nil {
		if s != nil {
			s.Close()
		}
		return b.undo(ctx, err)
	}
	s.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	_, err = u.engine.driver.End(ctx, b.rec, "what it was to build is built")
	return err
}

// buildMounts are what a machine that builds a layer is shown.
func (u *up) buildMounts() []sdk.Mount {
	var mounts []sdk.Mount
	switch {
	case u.builds != nil:
		mounts = append(u.builds.below.mounts(), sdk.Mount{Source: u.building, Target: u.builds.at, Writable: true})
	case len(u.making.Commands) > 0:
		mounts = u.layer.mounts()
	}
	mounts = append(mounts, u.wheels...)
	mounts = append(mounts, u.shown...)
	for _, r := range u.plan.Repos {
		if r.Folder != "" {
			mounts = append(mounts, sdk.Mount{Source: r.Folder, Target: repoMount(r)})
		}
	}
	return mounts
}

func repoMount(r preflight.Repo) string { return buildPath + "/repos/" + r.Name }

// privateFolder makes a folder for the time of a build. Its lock keeps other programs from
// removing it; after a crash they do.
func (e *Engine) privateFolder() (dir string, remove func() error, err error) {
	layers, err := e.store.Cache(layersDir)
	if err != nil {
		return "", nil, err
	}
	locks, err := e.store.Cache(layersDir, "locks")
	if err != nil {
		return "", nil, err
	}
	name := "settings-" + protocol.NewToken()[:16]
	lock, held, err := state.TryAcquire(filepath.Join(locks, name))
	if err != nil || held {
		return "", nil, errors.Join(err, fmt.Errorf("lock the folder %s", name))
	}
	dir = filepath.Join(layers, name+cachegc.PartialSuffix)
	remove = func() error {
		defer lock.Remove()
		return state.RemoveAll(dir)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return dir, remove, nil
}
