package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/environment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Where a machine of this computer finds what was installed for it, and what it is shown
// while that is made.
const (
	layerPath   = "/seer/layer"
	buildPath   = "/seer/build"
	pipCache    = "/seer/build/cache" // environment adds pip
	layersDir   = "layers"
	partialName = ".partial" // a layer that is being made, or was when its maker was killed
)

// layer is what python_packages and repos bring to the machines of this computer. Its
// folder is named by everything that it depends on, and is whole when it is there.
type layer struct {
	key    string
	dir    string // the folder in the cache
	choice plan.Choice
}

// ingredients are all that a layer depends on.
type ingredients struct {
	Recipe   string            `json:"recipe"`
	Python   string            `json:"python,omitempty"`
	Version  string            `json:"version,omitempty"`
	Has      map[string]string `json:"has,omitempty"` // what the interpreter brings along
	Image    *sdk.Image        `json:"image,omitempty"`
	System   []string          `json:"system,omitempty"` // packages of apt
	Packages []string          `json:"packages"`
	Repos    []preflight.Repo  `json:"repos"`
	Settings map[string]string `json:"settings"`
}

// layered reports whether a machine is shown a layer: one of this computer with a file
// tree of its own. Others install for themselves.
func layered(c plan.Choice) bool {
	return c.HostMounts && !c.BuildsImage && c.Isolation != "none"
}

// ownPython reports whether a sandbox has a virtual environment of its own though nothing
// is to be installed: an agent that works in it will want to.
func ownPython(mode string) bool { return mode == "notebook" || mode == "cli" }

// layerOf finds the layer of a choice; nil where it needs none.
func (e *Engine) layerOf(p plan.Plan, c plan.Choice, s settings) (*layer, error) {
	_, rest := p.ImageOf(c)
	if !layered(c) || len(rest.PythonPackages)+len(p.Repos) == 0 && !ownPython(p.ExecutionMode) {
		return nil, nil
	}
	in := ingredients{Recipe: environment.Recipe, Packages: rest.PythonPackages, Settings: s.identity}
	for _, r := range p.Repos {
		r.Token = "" // who opens it does not change what is in it
		in.Repos = append(in.Repos, r)
	}
	image, _ := p.ImageOf(c)
	in.Image, in.System = image, rest.SystemPackages
	if image == nil {
		python, err := e.interpreter(p.Python)
		if err != nil {
			return nil, err
		}
		known, err := e.probe(context.Background(), python.Executable)
		if err != nil {
			return nil, err
		}
		in.Python, in.Version, in.Has = python.Executable, python.Version, known.Distributions
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	dir, err := e.store.Cache(layersDir)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	key := hex.EncodeToString(sum[:])
	return &layer{key: key, dir: filepath.Join(dir, key), choice: c}, nil
}

// there reports whether the layer has been made.
func (l *layer) there() (bool, error) {
	_, err := os.Lstat(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// planLayer notes in the plan which layer there will be, and whether it is there.
func (e *Engine) planLayer(p *plan.Plan, s settings) (*layer, error) {
	for _, c := range p.Choices {
		l, err := e.layerOf(*p, c, s)
		if err != nil || l == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		there, err := l.there()
		if err != nil {
			return nil, err
		}
		p.Layer = &plan.Layer{Key: l.key, Folder: l.dir, Cached: there}
		return l, nil
	}
	return nil, nil
}

// ensureLayer makes the layer where it is not there yet. Of several programs that want
// it at once, one makes it and the others wait.
func (u *up) ensureLayer(ctx context.Context) error {
	l := u.layer
	if l == nil {
		return nil
	}
	if there, err := l.there(); err != nil || there {
		return err
	}
	lock, err := u.lockLayer(ctx, l)
	if err != nil {
		return err
	}
	defer lock.Release()
	if there, err := l.there(); err != nil || there {
		return err
	}
	partial := l.dir + partialName
	if err := removeAll(partial); err != nil { // of one who was killed
		return err
	}
	if err := os.Mkdir(partial, 0o700); err != nil {
		return err
	}
	u.report.info(StageBoot, "building %s; it is kept, and the next start has it", u.layerText())
	err = u.buildLayer(ctx, l, partial)
	if err == nil {
		err = os.Rename(partial, l.dir)
	}
	if err != nil {
		return errors.Join(err, removeAll(partial))
	}
	u.report.info(StageBoot, "built %s", l.dir)
	return nil
}

func (u *up) layerText() string {
	var parts []string
	_, rest := u.plan.ImageOf(u.layer.choice)
	if n := len(rest.PythonPackages); n > 0 {
		parts = append(parts, countText(n, "Python package"))
	}
	switch n := len(u.plan.Repos); n {
	case 0:
	case 1:
		parts = append(parts, "1 repository")
	default:
		parts = append(parts, fmt.Sprintf("%d repositories", n))
	}
	if len(parts) == 0 {
		return "the layer"
	}
	return "the layer of " + strings.Join(parts, " and ")
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
	u.report.info(StageBoot, "another start is building the same layer; waiting for it")
	return state.Acquire(ctx, path)
}

// buildLayer installs into the folder.
func (u *up) buildLayer(ctx context.Context, l *layer, folder string) error {
	return u.inBuildMachine(ctx, l.choice, func(b *up) { b.building, b.layer = folder, nil }, nil)
}

// inBuildMachine makes a machine that only builds, and ends with it: of the same kind and
// isolation as the sandbox, but with the network, and without what is the sandbox's.
// then is called while it lives.
func (u *up) inBuildMachine(ctx context.Context, c plan.Choice, change func(b *up), then func(context.Context, machine.Record) error) error {
	b, exp := *u, *u.exp
	exp.Sandbox.ExecutionMode, exp.Sandbox.Debug, exp.Sandbox.IdleTimeout = "", false, 0
	b.exp, b.plan.ExecutionMode, b.vscode = &exp, "", nil
	b.models, b.opts.Name, b.opts.Attached = nil, "", furnishing
	b.plan.Network, b.plan.NetworkHosts, b.plan.Ports, b.plan.Volumes = "open", nil, nil, nil
	c.GPU, c.GPUCount, c.Timeout = "", 0, buildTimeout.Seconds()
	b.plan.Choices = []plan.Choice{c}
	change(&b)
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
func (u *up) buildMounts() ([]sdk.Mount, error) {
	cache, err := u.engine.store.Cache("pip") // of downloads, for all layers
	if err != nil {
		return nil, err
	}
	mounts := []sdk.Mount{{Source: u.building, Target: layerPath, Writable: true}}
	if u.making != nil {
		mounts = nil
		if len(u.making.Commands) > 0 && u.layer != nil {
			mounts = []sdk.Mount{{Source: u.layer.dir, Target: layerPath}}
		}
	}
	mounts = append(mounts, sdk.Mount{Source: cache, Target: pipCache + "/pip", Writable: true})
	mounts = append(mounts, u.settings.mounts...)
	for _, r := range u.plan.Repos {
		if r.Folder != "" {
			mounts = append(mounts, sdk.Mount{Source: r.Folder, Target: repoMount(r)})
		}
	}
	return mounts, nil
}

func repoMount(r preflight.Repo) string { return buildPath + "/repos/" + r.Name }

// withheld are the secrets that open repositories: the machine that clones is given
// them, and the sandbox is not.
func withheld(repos []preflight.Repo, name string) bool {
	return slices.ContainsFunc(repos, func(r preflight.Repo) bool { return r.Token == name })
}
