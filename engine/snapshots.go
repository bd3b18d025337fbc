package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/snapshot"
)

// SaveOptions say how a sandbox is saved.
type SaveOptions = checkpoint.SaveOptions

// ForkOptions say how a sandbox is forked.
type ForkOptions = checkpoint.ForkOptions

// Snapshots is the store of this computer's snapshots.
func (e *Engine) Snapshots() (*snapshot.Store, error) {
	store, err := snapshot.StoreIn(e.paths.Data(), e.now, e.guard.Sign)
	return store, as(KindConfig, err)
}

// Save keeps a running sandbox's working folder and home on this computer, as
// [UpOptions].Snapshot starts from, on any provider. Its processes stand still while
// they are read, for at most [protocol.FreezeLimit]; what takes longer is not saved
// unless it is [SaveOptions].Live. Nothing is to be seen of a save that failed. A name
// that is taken is [KindConflict].
func (e *Engine) Save(ctx context.Context, ref string, o SaveOptions) (snapshot.Snapshot, error) {
	return e.saver.Save(ctx, ref, o)
}

// SignSnapshot vouches for a snapshot: it reads all of it, and signs it with the user's key
// under the name that it has here.
func (e *Engine) SignSnapshot(ctx context.Context, ref string) (snapshot.Snapshot, error) {
	store, err := e.Snapshots()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	signed, err := store.SignAs(ctx, ref)
	return signed, as(KindInternal, err)
}

// Snapshot saves the file system of a running sandbox at its provider. The result is a value
// for `image: {snapshot: …}` of an experiment at the same provider; it outlives the sandbox.
// It does not include the memory of processes.
func (e *Engine) Snapshot(ctx context.Context, ref string, progress Progress) (string, error) {
	return e.inventory.SaveImage(ctx, ref, e.reporter(progress))
}

// Fork makes n copies of a running sandbox, with its processes and their memory, its files
// and its services: variables and loaded models are as they were. Each copy has its own keys,
// ports, lease, random numbers and names of calls, and calls that ran end there as
// interrupted. The original pauses while it is saved, and continues.
//
// It must be a sandbox of this computer in isolation gvisor, with a network of its own;
// [KindUnsupported] otherwise. Copies of a sandbox with a GPU share that GPU with it, whose
// memory must be enough for all. If some copies fail, the others are returned with the error.
func (e *Engine) Fork(ctx context.Context, ref string, n int, o ForkOptions) ([]*Sandbox, error) {
	if err := e.plugins.Usable(); err != nil {
		return nil, err
	}
	made, err := e.saver.Fork(ctx, ref, n, o)
	var sandboxes []*Sandbox
	for _, m := range made {
		sandboxes = append(sandboxes, e.sandbox(m))
	}
	return sandboxes, err
}
