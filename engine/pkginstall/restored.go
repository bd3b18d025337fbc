package pkginstall

import (
	"context"
	_ "embed"
	"strings"

	"github.com/seer-engine/seer/engine/client"
)

//go:embed restored.py
var restoredProgram string

// Kept is what the virtual environment of a machine has of its own, while a home of
// another machine is restored over it.
type Kept struct {
	installer *installer
	python    string // the base of the environment; empty = the machine has none
}

// Keep puts it aside. What is restored then has no working ~/.seer/python until
// [Kept.Return].
func Keep(ctx context.Context, runtime *client.Client) (Kept, error) {
	h, err := runtime.Health(ctx)
	if err != nil {
		return Kept{}, err
	}
	k := Kept{installer: &installer{runtime: runtime}}
	k.python, err = k.run(ctx, h.Python, "keep")
	return k, err
}

// Return puts it back, between the packages that were restored. Others are the versions
// of Python, such as 3.12, whose packages were restored and are of no use on this machine.
func (k Kept) Return(ctx context.Context) (others []string, err error) {
	if k.python == "" {
		return nil, nil
	}
	out, err := k.run(ctx, k.python, "return")
	return strings.Fields(out), err
}

func (k Kept) run(ctx context.Context, python, what string) (string, error) {
	return k.installer.run(ctx, "keeping the machine's own Python", []string{python, "-I", "-c", restoredProgram}, []string{what}, nil)
}
