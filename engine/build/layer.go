package build

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

	"github.com/seer-engine/seer/engine/build/pipconfig"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// layersDir is the folder of the cache with the layers.
const layersDir = "layers"

// layer is what python_packages and repos bring to the machines of this computer, or what
// an execution mode needs of Python. Its folder is named by everything that it depends on,
// and is whole when it is there.
type layer struct {
	key      string
	dir      string // the folder in the cache
	at       string // where machines see it
	packages []string
	repos    bool
	below    *layer // what it stands upon; nil = nothing
	choice   plan.Choice
	content  string // in words, when it is being made
}

// all are the layer and those below it.
func (l *layer) all() (list []*layer) {
	for ; l != nil; l = l.below {
		list = append(list, l)
	}
	return list
}

// mounts are what a machine is shown of it.
func (l *layer) mounts() (mounts []sdk.Mount) {
	for _, l := range l.all() {
		mounts = append(mounts, sdk.Mount{Source: l.dir, Target: l.at})
	}
	return mounts
}

// paths are where a machine sees it, the upper ones first.
func (l *layer) paths() (paths []string) {
	for _, l := range l.all() {
		paths = append(paths, l.at)
	}
	return paths
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
	Below    string            `json:"below,omitempty"` // key of the layer that it stands upon
}

// ownPython reports whether a sandbox has a virtual environment of its own though nothing
// is to be installed: an agent that works in it will want to.
func ownPython(mode string) bool { return mode == "notebook" || mode == "cli" }

// layerOf finds the layer of a choice; nil where it needs none. What an execution mode
// needs is a layer of its own, so that all experiments with the same Python share it.
func (b *Builder) layerOf(p plan.Plan, c plan.Choice, s pipconfig.Settings) (*layer, error) {
	image, rest := p.ImageOf(c)
	if !c.Layered() || len(rest.PythonPackages)+len(p.Repos) == 0 && !ownPython(p.ExecutionMode) {
		return nil, nil
	}
	in := ingredients{Recipe: pkginstall.Recipe, Settings: s.Identity, Image: image, System: rest.SystemPackages}
	if image == nil {
		python, err := b.Python.At(p.Python)
		if err != nil {
			return nil, err
		}
		known, err := b.Python.Probe(context.Background(), python.Executable)
		if err != nil {
			return nil, err
		}
		in.Python, in.Version, in.Has = python.Executable, python.Version, known.Distributions
	}
	var below *layer
	own := rest.PythonPackages
	if needs, more := ofMode(p, rest.PythonPackages, image == nil); len(needs) > 0 {
		var err error
		if below, err = b.layerFrom(in, layer{at: basePath, packages: needs, choice: c}); err != nil || len(more)+len(p.Repos) == 0 {
			return below, err
		}
		in.Below = below.key
	}
	for _, r := range p.Repos {
		r.Token = "" // who opens it does not change what is in it
		in.Repos = append(in.Repos, r)
	}
	// What the mode needs is named again: pip must choose what goes together.
	return b.layerFrom(in, layer{at: layerPath, packages: own, repos: len(p.Repos) > 0, below: below, choice: c})
}

// layerFrom names a layer.
func (b *Builder) layerFrom(in ingredients, l layer) (*layer, error) {
	in.Packages = l.packages
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	dir, err := b.Store.Cache(layersDir)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	l.key = hex.EncodeToString(sum[:])
	l.dir = filepath.Join(dir, l.key)
	return &l, nil
}

// ofMode tells what the execution mode needs of Python, whatever the experiment has, from
// what is the experiment's. There is nothing where this computer's Python has it all, or
// where the experiment has versions of its own of all of it.
func ofMode(p plan.Plan, packages []string, here bool) (needs, more []string) {
	if p.ExecutionMode != experiment.ModeNotebook {
		return nil, packages
	}
	all := notebook.Requirements(true)
	missing := false
	for _, text := range packages {
		switch {
		case !slices.Contains(all, text):
			more = append(more, text)
		case !here || !slices.Contains(p.Present, text):
			missing = true
		}
	}
	if !missing {
		return nil, packages
	}
	return all, more
}

// there reports whether the layer has been made.
func (l *layer) there() (bool, error) {
	_, err := os.Lstat(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// publish gives a layer its name, under which it counts as whole, also after a power cut: what
// machines have written into it is only in memory until sync has ended.
func (l *layer) publish(partial string, sync func(dir string) error) error {
	if err := sync(partial); err != nil {
		return fmt.Errorf("write the layer to the disk: %w", err)
	}
	if err := os.Rename(partial, l.dir); err != nil {
		return err
	}
	return state.SyncDir(filepath.Dir(l.dir))
}

// planLayer notes in the plan which layer there will be, and whether it is there.
func (b *Builder) planLayer(p *plan.Plan, s pipconfig.Settings) (*layer, error) {
	for _, c := range p.Choices {
		l, err := b.layerOf(*p, c, s)
		if err != nil || l == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		there := true
		for _, part := range l.all() {
			have, err := part.there()
			if err != nil {
				return nil, err
			}
			there = there && have
		}
		p.Layer = &plan.Layer{Key: l.key, Folder: l.dir, Cached: there}
		return l, nil
	}
	return nil, nil
}
