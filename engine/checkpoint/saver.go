package checkpoint

import (
	"context"
	"errors"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
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
	// network of their own. What they have on a GPU is saved with them.
	Memory   bool
	Progress event.Func
}

// ForkOptions say how a sandbox is forked.
type ForkOptions struct {
	// Name of the copies, followed by -1, -2 …; empty = none.
	Name string
	// Attached is how long a copy outlives the program that made it; 0 = a detached lease.
	Attached time.Duration
	Progress event.Func
}

// Saver saves running sandboxes, with their processes or without, and forks them. All fields
// must be set, but for the version.
type Saver struct {
	Processes Checkpointer
	Snapshots func() (*snapshot.Store, error)
	// Open connects to a live sandbox, by its ID or its name.
	Open     func(ctx context.Context, ref string) (provision.Machine, error)
	Observer provision.Observer
	Version  string // of this program
}

func (s Saver) session(m provision.Machine) session.Session {
	return session.Session{ID: m.Record.ID, Ledger: s.Processes.Ledger, Client: m.Client}
}

// Save keeps a running sandbox's working folder and home under a name. Its processes stand
// still while they are read, for at most [protocol.FreezeLimit]; what takes longer is not
// saved unless it is Live. Nothing is to be seen of a save that failed. A name that is taken
// is [errdefs.KindConflict].
func (s Saver) Save(ctx context.Context, ref string, o SaveOptions) (snapshot.Snapshot, error) {
	if err := snapshot.CheckName(o.Name); err != nil {
		return snapshot.Snapshot{}, &errdefs.Error{Kind: errdefs.KindConfig, Err: err}
	}
	store, err := s.Snapshots()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if _, err := store.Get(ctx, o.Name); err == nil { // before anything is read
		return snapshot.Snapshot{}, saveError(&snapshot.ExistsError{Name: o.Name})
	}
	m, err := s.Open(ctx, ref)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	defer m.Close()
	report := event.NewReporter("", event.SourceEngine, s.Processes.Now, o.Progress)
	report.Send(event.SnapshotSaving{Sandbox: m.Record.ID})
	saved, err := s.save(ctx, m, store, o, report)
	if err != nil {
		return saved, s.notSaved(ctx, m.Record.ID, err)
	}
	for _, t := range saved.Trees {
		report.Send(event.SnapshotTree{Tree: t.Name, Files: t.Entries, Bytes: t.Bytes, New: t.New})
	}
	report.Send(event.SnapshotSaved{Snapshot: o.Name})
	return saved, nil
}

func (s Saver) save(ctx context.Context, m provision.Machine, store *snapshot.Store, o SaveOptions, report event.Reporter) (snapshot.Snapshot, error) {
	if o.Memory {
		if err := checkLive(o.Live); err != nil {
			return snapshot.Snapshot{}, err
		}
	}
	sandbox := s.session(m)
	r, state, err := sandbox.State()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	meta := files.Meta(r, state, o.Name, o.Description)
	meta.Seer = s.Version
	if o.Memory {
		return s.Processes.Save(ctx, sandbox, store, meta, report)
	}
	return files.Save(ctx, store, m.Client, meta, o.Live, report)
}

// Fork makes n new sandboxes that go on where a running one is; see [Checkpointer.Fork].
func (s Saver) Fork(ctx context.Context, ref string, n int, o ForkOptions) ([]provision.Machine, error) {
	if err := checkForks(n); err != nil {
		return nil, err
	}
	m, err := s.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	made, err := s.Processes.Fork(ctx, s.session(m), Fork{
		Copies: n, Name: o.Name, Attached: o.Attached, Report: event.NewReporter("", event.SourceEngine, s.Processes.Now, o.Progress),
	})
	var unsaved *SaveError
	if errors.As(err, &unsaved) {
		return nil, s.notSaved(ctx, m.Record.ID, unsaved.Err)
	}
	return made, errdefs.Wrap(errdefs.KindProvider, err)
}

// notSaved is why a sandbox could not be read, or that it has ended meanwhile.
func (s Saver) notSaved(ctx context.Context, id string, cause error) error {
	// Its files may have been cut, or the way to it; what it has answered was no end.
	cut := sdk.CodeOf(cause) == sdk.Invalid
	if r, err := s.Processes.Ledger.Get(id); err == nil && ctx.Err() == nil {
		cause = s.Observer.Explain(ctx, r, "while it was saved", cause, cut || client.Broken(cause))
	}
	if cut {
		return &errdefs.Error{Kind: errdefs.KindProvider, Err: cause}
	}
	return saveError(cause)
}

func saveError(err error) error {
	var exists *snapshot.ExistsError
	if errors.As(err, &exists) {
		return &errdefs.Error{Kind: errdefs.KindConflict, Err: err}
	}
	return errdefs.Wrap(errdefs.KindProvider, err)
}
