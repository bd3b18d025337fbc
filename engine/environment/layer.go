package environment

import (
	"context"
	"path"

	_ "embed"

	"github.com/seer-engine/seer/engine/protocol"
)

//go:embed pack.py
var packProgram string

//go:embed use.sh
var useScript string

// Recipe is the version of the way in which a layer is made; another one makes another
// layer of the same things.
const Recipe = "3"

// Build installs the Python packages and repositories of a spec into the folder layer of
// the machine, which is writable, empty and shown to nobody else. What [Use] needs is
// there when it returns without an error. Of what the layer below has already, which is
// shown read-only, nothing is installed again; it is empty where there is none.
//
// ~/.seer/python is a link into the layer while it is built: programs that are installed
// then name the machine's own environment as their interpreter, and find there what an
// agent installs later.
func Build(ctx context.Context, runtime *protocol.Client, s Spec, layer, below string, log func(line string)) error {
	i := &installer{runtime: runtime, log: log, hidden: s.Hidden}
	s.Venv, s.layer, s.below = true, layer, below
	result, err := Install(ctx, runtime, s, log)
	if err != nil {
		return err
	}
	args := []string{layer, below}
	for _, r := range s.Repos {
		args = append(args, r.Name)
	}
	_, err = i.run(ctx, "packing the layer", []string{result.Python, "-I", "-c", packProgram}, args, nil)
	return err
}

// Use gives a machine that is shown layers, the upper ones first, its own environment,
// which looks into them, and its clones. It takes some milliseconds and no network.
func Use(ctx context.Context, runtime *protocol.Client, layers ...string) (Result, error) {
	i := &installer{runtime: runtime}
	out, err := i.run(ctx, "preparing "+path.Base(layers[0]), []string{"sh", "-c", useScript, "sh"}, layers, nil)
	if err != nil {
		return Result{}, err
	}
	return resultOf(out)
}
