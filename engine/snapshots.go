package engine

import (
	"context"
	"errors"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/sdk"
)

// SaveOptions say how a sandbox is saved.
type SaveOptions struct {
	Name        string // unique; see [snapshot.CheckName]
	Description string
	// Live saves without a pause. Files that are written meanwhile may be saved in the middle.
	Live bool
	// Memory saves the processes, too: only of this computer's sandboxes in gVisor with a
	// network of their own, without a GPU.
	Memory   bool
	Progress Progress
}

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
	if err := snapshot.CheckName(o.Name); err != nil {
		return snapshot.Snapshot{}, &Error{Kind: KindConfig, Err: err}
	}
	store, err := e.Snapshots()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if _, err := store.Get(ctx, o.Name); err == nil { // before anything is read
		return snapshot.Snapshot{}, saveError(&snapshot.ExistsError{Name: o.Name})
	}
	s, err := e.Open(ctx, ref)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	defer s.Close()
	report := e.reporter(o.Progress)
	report.Send(event.SnapshotSaving{Sandbox: s.id})
	save := s.save
	if o.Memory {
		save = s.saveProcesses
	}
	saved, err := save(ctx, store, o, report)
	if err != nil {
		return saved, s.notSaved(ctx, err)
	}
	for _, t := range saved.Trees {
		report.Send(event.SnapshotTree{Tree: t.Name, Files: t.Entries, Bytes: t.Bytes, New: t.New})
	}
	report.Send(event.SnapshotSaved{Snapshot: o.Name})
	return saved, nil
}

// notSaved is why a sandbox could not be read, or that it has ended meanwhile.
func (s *Sandbox) notSaved(ctx context.Context, cause error) error {
	// Its files may have been cut, or the way to it; what it has answered was no end.
	cut := sdk.CodeOf(cause) == sdk.Invalid
	if r, err := s.engine.ledger.Get(s.id); err == nil && ctx.Err() == nil {
		cause = s.engine.observer.Explain(ctx, r, "while it was saved", cause, cut || client.Broken(cause))
	}
	if cut {
		return &Error{Kind: KindProvider, Err: cause}
	}
	return saveError(cause)
}

func saveError(err error) error {
	var exists *snapshot.ExistsError
	if errors.As(err, &exists) {
		return &Error{Kind: KindConflict, Err: err}
	}
	return as(KindProvider, err)
}

func (s *Sandbox) save(ctx context.Context, store *snapshot.Store, o SaveOptions, report event.Reporter) (snapshot.Snapshot, error) {
	r, state, err := s.session().State()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	meta := files.Meta(r, state, o.Name, o.Description)
	meta.Seer = s.engine.opts.Version
	return files.Save(ctx, store, s.runtime, meta, o.Live, report)
}
