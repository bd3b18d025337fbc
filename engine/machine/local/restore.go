package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/engine/machine/local/internal/treetar"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// restored is what a machine goes on with; nil for one that starts anew.
type restored struct {
	Restore
	launch
}

func restoreOf(spec *sdk.MachineSpec) (*restored, error) {
	text := spec.Env[RestoreVariable]
	if text == "" {
		return nil, nil
	}
	r := &restored{}
	if err := json.Unmarshal([]byte(text), &r.Restore); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "%s is not valid: %v", RestoreVariable, err)
	}
	var err error
	r.launch, err = readLaunch(filepath.Join(r.Dir, memoryNote))
	return r, err
}

// parked is how the copy's socket is known; nil for a machine that starts anew.
func (r *restored) parked() *parkNote {
	if r == nil {
		return nil
	}
	return &parkNote{ID: r.ID, Key: r.Key, Copy: true}
}

// fill gives the machine the files that its processes had, and the word of who it is.
func (r *restored) fill(ctx context.Context, f folder) error {
	if r == nil {
		return nil
	}
	var errs [len(savedTrees)]error
	var all sync.WaitGroup
	for i, name := range savedTrees {
		all.Go(func() { errs[i] = treetar.Unpack(ctx, filepath.Join(r.Dir, MemoryTrees, name+".tar"), f.path(name)) })
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return state.NoSpace(f.root, err)
	}
	return state.WriteFile(filepath.Join(f.path("run"), "go-"+r.ID), parking.Seal(r.Key, r.ID, r.Renewal), 0o600)
}

// apply has the command be the one that was saved.
func (r *restored) apply(spec *isolation.Spec) {
	if r != nil {
		spec.Argv, spec.Env, spec.ReadOnly = r.Argv, r.Env, r.ReadOnly
		spec.RestoreFrom = filepath.Join(r.Dir, MemoryImages)
	}
}

// fits refuses a tree that is another one than that of the saved processes.
func (r *restored) fits(kind string, tree *rootfs.Tree) error {
	switch {
	case r == nil:
		return nil
	case kind != isolation.GVisor:
		return sdk.Errorf(sdk.Unsupported, "saved processes go on in isolation gvisor only")
	case r.System != tree.Digest:
		return sdk.Errorf(sdk.Unsupported, "the saved processes ran in the image tree %s, and that of the same name is %s now", r.System, tree.Digest)
	}
	return nil
}

// keepLaunch notes what a machine in gVisor is started with.
func (p *provider) keepLaunch(f folder, n *note, spec isolation.Spec) error {
	if n.Isolation != isolation.GVisor {
		return nil
	}
	l := launch{Version: 1, Spec: *n.Spec, Argv: spec.Argv, Env: spec.Env, ReadOnly: spec.ReadOnly, System: n.System.Digest}
	l.Spec.Key, l.Spec.Owner, l.Spec.Name, l.Spec.Command = "", "", "", spec.Argv
	l.Spec.Env = maps.Clone(l.Spec.Env)
	delete(l.Spec.Env, RestoreVariable)
	binaries, err := p.runtimes.find()
	if err != nil {
		return err
	}
	for digest := range binaries {
		l.Runtime = digest
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := state.WriteFile(f.path(launchName), data, 0o600); err != nil {
		return fmt.Errorf("note what the machine is started with: %w", err)
	}
	return nil
}
