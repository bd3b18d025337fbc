package pkginstall

import (
	"context"
	_ "embed"
	"path"

	"github.com/seer-engine/seer/engine/client"
)

//go:embed pack.py
var packProgram string

//go:embed use.sh
var useScript string

// Recipe is the version of the way in which a layer is made; another one makes another
// layer of the same things.
const Recipe = "5"

// Layer is a folder of a machine into which others are to look.
type Layer struct {
	// Folder is writable, empty and shown to nobody else while it is built.
	Folder string
	// Below is a layer that it stands upon, shown read-only; of what that has nothing is
	// installed again. Empty = none.
	Below string
	// Shared tells that it is what notebooks need, whatever the experiment, as one below always
	// is: nobody but the notebook's service looks for JupyterLab's files of it.
	Shared bool
}

// Build installs the Python packages and repositories of a spec into a layer. What [Use]
// needs is there when it returns without an error.
//
// ~/.seer/python is a link into the layer while it is built: programs that are installed
// then name the machine's own environment as their interpreter, and find there what an
// agent installs later.
func Build(ctx context.Context, runtime *client.Client, s Spec, layer Layer, log func(line string)) error {
	i := &installer{runtime: runtime, log: log, hidden: s.Hidden}
	s.Venv, s.layer, s.below = true, layer.Folder, layer.Below
	result, err := Install(ctx, runtime, s, log)
	if err != nil {
		return err
	}
	shared := "own"
	if layer.Shared {
		shared = "shared"
	}
	args := []string{layer.Folder, layer.Below, shared}
	for _, r := range s.Repos {
		args = append(args, r.Name)
	}
	_, err = i.run(ctx, "packing the layer", []string{result.Python, "-I", "-c", packProgram}, args, nil)
	return err
}

// Use gives a machine that is shown layers, the upper ones first, its own environment,
// which looks into them, and its clones. It takes some milliseconds and no network.
func Use(ctx context.Context, runtime *client.Client, layers ...string) (Result, error) {
	i := &installer{runtime: runtime}
	out, err := i.run(ctx, "preparing "+path.Base(layers[0]), []string{"sh", "-c", useScript, "sh"}, layers, nil)
	if err != nil {
		return Result{}, err
	}
	return resultOf(out)
}
