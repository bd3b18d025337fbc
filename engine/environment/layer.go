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
const Recipe = "2"

// Build installs the Python packages and repositories of a spec into the folder layer of
// the machine, which is writable, empty and shown to nobody else. What [Use] needs is
// there when it returns without an error.
//
// ~/.seer/python is a link into the layer while it is built: programs that are installed
// then name the machine's own environment as their interpreter, and find there what an
// agent installs later.
func Build(ctx context.Context, runtime *protocol.Client, s Spec, layer string, log func(line string)) error {
	i := &installer{runtime: runtime, log: log, hidden: s.Hidden}
	s.Venv, s.layer = true, layer
	result, err := Install(ctx, runtime, s, log)
	if err != nil {
		return err
	}
	args := []string{layer}
	for _, r := range s.Repos {
		args = append(args, r.Name)
	}
	_, err = i.run(ctx, "packing the layer", []string{result.Python, "-I", "-c", packProgram}, args, nil)
	return err
}

// Use gives a machine that is shown a layer its own environment, which looks into it,
// and its clones. It takes some milliseconds and no network.
func Use(ctx context.Context, runtime *protocol.Client, layer string) (Result, error) {
	i := &installer{runtime: runtime}
	out, err := i.run(ctx, "preparing "+path.Base(layer), []string{"sh", "-c", useScript, "sh"}, []string{layer}, nil)
	if err != nil {
		return Result{}, err
	}
	return resultOf(out)
}
