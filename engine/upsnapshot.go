package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
)

// restore puts the files of a snapshot into a sandbox.
func (u *up) restore(ctx context.Context, s *Sandbox) error {
	if u.opts.Snapshot == "" {
		return nil
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return err
	}
	target := files.Target{Sandbox: s.runtime, Layer: u.layerKey(), Clear: files.Clears(u.exp.Sandbox.Volumes), Report: u.report}
	return target.Restore(ctx, store, u.opts.Snapshot)
}

// cleared are paths that a snapshot's files take the place of.
func (u *up) cleared(path string) bool {
	return u.opts.Snapshot != "" && files.Clears(u.exp.Sandbox.Volumes) && files.InWorkspace(path)
}

// layerKey names what the sandbox is shown of packages and repositories.
func (u *up) layerKey() string {
	if u.building != nil {
		return u.building.Layer
	}
	return u.installation.LayerKey()
}

// inherit gives the experiment the isolation and the network of the snapshot that it starts
// from, where it names none itself.
func (u *up) inherit(ctx context.Context) error {
	saved, err := u.snapshot(ctx)
	if saved != nil {
		u.exp, err = files.Inherit(u.exp, *saved, u.report)
	}
	return err
}

// checkSnapshot finds the snapshot before anything is rented.
func (u *up) checkSnapshot(ctx context.Context) error {
	saved, err := u.snapshot(ctx)
	if saved != nil && saved.Damaged != "" {
		return files.Unusable(u.opts.Snapshot, *saved)
	}
	return err
}

// snapshot is what the sandbox starts from; nil = nothing.
func (u *up) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if u.opts.Snapshot == "" {
		return nil, nil
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return nil, err
	}
	saved, err := store.Get(ctx, u.opts.Snapshot)
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	return &saved, nil
}
