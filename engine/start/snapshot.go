package start

import (
	"context"

	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
)

// processes finds the snapshot that the sandbox is to begin with, if it has processes;
// otherwise the store is nil.
func (p *preparation) processes(ctx context.Context) (*snapshot.Store, snapshot.Snapshot, error) {
	if err := p.checkSnapshot(ctx); p.opts.Snapshot == "" || err != nil {
		return nil, snapshot.Snapshot{}, err
	}
	store, err := p.Snapshots()
	if err != nil {
		return nil, snapshot.Snapshot{}, err
	}
	saved, err := store.Get(ctx, p.opts.Snapshot)
	if err != nil || saved.Kind != snapshot.Memory {
		return nil, saved, errdefs.Wrap(errdefs.KindNotFound, err)
	}
	return store, saved, nil
}

// restoreProcesses is [Starter.Start] from a snapshot with processes.
func (p *preparation) restoreProcesses(ctx context.Context, store *snapshot.Store, saved snapshot.Snapshot) (provision.Machine, error) {
	return p.Checkpointer.Restore(ctx, checkpoint.Restoration{
		Store: store, Snapshot: saved, Experiment: p.exp, Name: p.opts.Name, Attached: p.opts.Attached,
		Vouched: p.Guard.CheckSigned, Confirm: p.Guard.ConfirmProcesses, Report: p.report,
	})
}

// inherit gives the experiment the isolation and the network of the snapshot that it starts
// from, where it names none itself.
func (p *preparation) inherit(ctx context.Context) error {
	saved, err := p.snapshot(ctx)
	if saved != nil {
		p.exp, err = files.Inherit(p.exp, *saved, p.report)
	}
	return err
}

// checkSnapshot finds the snapshot before anything is rented.
func (p *preparation) checkSnapshot(ctx context.Context) error {
	saved, err := p.snapshot(ctx)
	if saved != nil && saved.Damaged != "" {
		return files.Unusable(p.opts.Snapshot, *saved)
	}
	return err
}

// snapshot is what the sandbox starts from; nil = nothing.
func (p *preparation) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if p.opts.Snapshot == "" {
		return nil, nil
	}
	store, err := p.Snapshots()
	if err != nil {
		return nil, err
	}
	p.snapshots = store
	saved, err := store.Get(ctx, p.opts.Snapshot)
	if err != nil {
		return nil, errdefs.Wrap(errdefs.KindNotFound, err)
	}
	return &saved, nil
}
