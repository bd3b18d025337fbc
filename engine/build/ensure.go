package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

// ensureLayers makes the layers that are not there yet.
func (b *building) ensureLayers(ctx context.Context) error {
	all := b.layer.all()
	for _, l := range slices.Backward(all) {
		if err := b.ensureLayer(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// ensureLayer makes a layer where it is not there yet. Of several programs that want
// it at once, one makes it and the others wait.
func (b *building) ensureLayer(ctx context.Context, l *layer) error {
	lock, err := b.lockLayer(ctx, l)
	if err != nil {
		return err
	}
	defer lock.Release()
	if there, err := l.there(); err != nil || there {
		return errors.Join(err, l.used(b.builder.Now()))
	}
	partial := l.dir + cachegc.PartialSuffix
	if err := state.RemoveAll(partial); err != nil { // of one who was killed
		return err
	}
	if err := os.Mkdir(partial, 0o700); err != nil {
		return err
	}
	l.content = b.layerContent(l)
	b.Report.Send(event.BuildStarted{Part: l.part(), Contents: l.content})
	err = b.buildLayer(ctx, l, partial)
	if err == nil {
		err = l.writeManifest(ctx, partial)
	}
	if err == nil {
		err = l.publish(partial, state.SyncDisk)
	}
	if err != nil {
		return errors.Join(err, state.RemoveAll(partial))
	}
	b.Report.Send(event.BuildFinished{Folder: l.dir})
	return nil
}

// part says which part of a machine the layer is, as [event.BuildStarted] names it.
func (l *layer) part() string {
	switch {
	case l.at == basePath:
		return "base"
	case l.content == ownVenv:
		return "venv"
	}
	return "layer"
}

const ownVenv = "a virtual environment"

// layerContent is what is in it.
func (b *building) layerContent(l *layer) string {
	if l.at == basePath {
		return "Jupyter for notebook mode"
	}
	var parts []string
	_, own := ofMode(b.plan, l.packages, false)
	if n := len(own); n > 0 {
		parts = append(parts, text.Plural(n, "Python package"))
	}
	switch n := len(b.plan.Repos); n {
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

func (b *building) lockLayer(ctx context.Context, l *layer) (*state.Lock, error) {
	dir, err := b.builder.Store.Cache(layersDir, "locks")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, l.key)
	lock, held, err := state.TryAcquire(path)
	if err != nil || !held {
		return lock, err
	}
	b.Report.Send(event.BuildWaiting{Part: "layer"})
	return state.Acquire(ctx, path)
}

// buildLayer installs into the folder. What pip has downloaded is kept for later builds,
// also when this one fails.
func (b *building) buildLayer(ctx context.Context, l *layer, folder string) error {
	cache := b.builder.wheels()
	dir, err := cache.Folder(b.Settings.Indexes(), l.packages, b.commands(l.repos))
	if err != nil {
		return err
	}
	fresh := l.dir + freshSuffix + cachegc.PartialSuffix // gc finds what a killed build leaves
	wheels, err := cache.Open(dir, fresh)
	if err != nil {
		return err
	}
	m := Machine{Purpose: "the layer of " + l.content, Image: b.rootfs.image(), Mounts: append(l.below.mounts(),
		sdk.Mount{Source: folder, Target: l.at, Writable: true},
		sdk.Mount{Source: wheels.Dir, Target: wheelsPath, Writable: b.builder.Undefended}, sdk.Mount{Source: fresh, Target: freshPath, Writable: true},
	)}
	err = b.run(ctx, l.choice, m, func(ctx context.Context, runtime *client.Client, log *installLog) error {
		return b.installLayer(ctx, runtime, l, log)
	}, l)
	if kept := wheels.Admit(ctx); kept != nil {
		b.Report.Send(event.DownloadsNotKept{Reason: kept.Error()})
	}
	return errors.Join(err, state.RemoveAll(fresh))
}

// commands are those of the repositories.
func (i *Installation) commands(repos bool) (commands []string) {
	if !repos {
		return nil
	}
	for _, r := range i.plan.Repos {
		commands = append(commands, r.Install)
	}
	return commands
}

// privateFolder makes a folder for the time of a build. Its lock keeps other programs from
// removing it; after a crash they do.
func (b *Builder) privateFolder() (dir string, remove func() error, err error) {
	layers, err := b.Store.Cache(layersDir)
	if err != nil {
		return "", nil, err
	}
	locks, err := b.Store.Cache(layersDir, "locks")
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
