package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/internal/text"
)

// processes finds the snapshot that the sandbox is to begin with, if it has processes;
// otherwise the store is nil.
func (u *up) processes(ctx context.Context) (*snapshot.Store, snapshot.Snapshot, error) {
	if err := u.checkSnapshot(ctx); u.opts.Snapshot == "" || err != nil {
		return nil, snapshot.Snapshot{}, err
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return nil, snapshot.Snapshot{}, err
	}
	saved, err := store.Get(ctx, u.opts.Snapshot)
	if err != nil || saved.Kind != snapshot.Memory {
		return nil, saved, as(KindNotFound, err)
	}
	return store, saved, nil
}

// wake is [Engine.Up] from a snapshot with processes.
func (u *up) wake(ctx context.Context, store *snapshot.Store, saved snapshot.Snapshot) (*Sandbox, error) {
	want := u.exp.Sandbox
	if want.Isolation != "" && want.Isolation != isolation.Auto && want.Isolation != isolation.GVisor {
		return nil, u.unlike("sandbox.isolation", fmt.Sprintf("the snapshot %s has processes, which go on in isolation gvisor only, and the experiment says %s", saved.Name, want.Isolation), isolation.GVisor)
	}
	if err := u.engine.vouched(ctx, saved); err != nil {
		return nil, err
	}
	dir, done, err := u.engine.memoryWork(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	u.report.Info(StageSnapshot, "restoring the processes of %s: %s", saved.Name, text.Bytes(saved.Bytes))
	verification, err := unpackMemory(ctx, store, saved, dir)
	if err != nil {
		return nil, err
	}
	defer verification.stop()
	w, err := u.engine.waken(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := u.confirmProcesses(ctx, saved, w.spec); err != nil {
		return nil, err
	}
	if w.spec.Network != want.Network {
		set := w.spec.Network
		if set == "hosts" {
			set = "[" + strings.Join(w.spec.NetworkHosts, ", ") + "]"
		}
		return nil, u.unlike("sandbox.network", fmt.Sprintf("the processes of %s have the network %s, and the experiment wants %s", saved.Name, w.spec.Network, want.Network), set)
	}
	if mode := w.saved.Session.Mode; mode != want.ExecutionMode {
		return nil, u.unlike("sandbox.execution_mode", fmt.Sprintf("the processes of %s are those of the execution_mode %s, and the experiment has %s", saved.Name, orText(mode, "null"), orText(want.ExecutionMode, "null")), orText(mode, "null"))
	}
	w.name, w.attached, w.timeout, w.idle, w.report, w.verified = u.opts.Name, u.opts.Attached, want.Timeout, want.IdleTimeout, u.report, verification.result
	s, err := w.run(ctx)
	if err == nil {
		err = w.release(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	u.tellPorts(w.rec)
	u.report.Done(StageBoot, "sandbox %s goes on where %s was", s.id, saved.Name)
	return s, nil
}

// unlike is the error of an experiment that wants another sandbox than the saved processes
// are of; set is what would be the same.
func (u *up) unlike(path, message, set string) error {
	return &Error{Kind: KindConfig, Err: u.exp.Errorf(path, message, fmt.Sprintf("set %s: %s", path, set))}
}
