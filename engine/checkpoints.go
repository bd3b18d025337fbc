package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
)

// ForkOptions say how a sandbox is forked.
type ForkOptions struct {
	// Name of the copies, followed by -1, -2 …; empty = none.
	Name string
	// Attached is as in [UpOptions].
	Attached time.Duration
	Progress Progress
}

// Fork makes n new sandboxes that go on where a running one is, with its processes and
// their memory, its files and its services: variables and loaded models are as they were.
// Keys, ports, end, random numbers and names of calls are each copy's own, and calls that
// ran end there as interrupted. The original stands still while it is saved, and goes on.
//
// It must be a sandbox of this computer in isolation gvisor, with a network of its own and
// no GPU; [KindUnsupported] otherwise. If some copies fail, the others are returned with
// the error.
func (e *Engine) Fork(ctx context.Context, ref string, n int, o ForkOptions) ([]*Sandbox, error) {
	if err := checkpoint.CheckForks(n); err != nil {
		return nil, err
	}
	if err := e.plugins.Usable(); err != nil {
		return nil, err
	}
	s, err := e.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	made, err := e.starter.Checkpointer.Fork(ctx, s.session(), checkpoint.Fork{Copies: n, Name: o.Name, Attached: o.Attached, Report: e.reporter(o.Progress)})
	var unsaved *checkpoint.SaveError
	if errors.As(err, &unsaved) {
		return nil, s.notSaved(ctx, unsaved.Err)
	}
	var sandboxes []*Sandbox
	for _, m := range made {
		sandboxes = append(sandboxes, e.sandbox(m))
	}
	return sandboxes, as(KindProvider, err)
}

// checkpointer saves and restores processes.
func (e *Engine) checkpointer(findCodeServer func() (codeserver.Program, error)) checkpoint.Checkpointer {
	return checkpoint.Checkpointer{
		Store: e.store, Memory: e.localMemory, Ledger: e.ledger, Driver: e.driver,
		Connect: e.connect, Terminate: e.inventory.Terminate, FindCodeServer: findCodeServer, Now: e.now,
	}
}

// localMemory is the provider of this computer as far as it saves processes.
func (e *Engine) localMemory() (local.Memory, error) {
	if e.plugins.LocalReplaced() {
		return nil, checkpoint.NotSavable(localName)
	}
	p, err := e.local()
	if err != nil {
		return nil, err
	}
	if m, ok := p.(local.Memory); ok {
		return m, nil
	}
	return nil, checkpoint.NotSavable(localName)
}

// saveProcesses is [Sandbox.save] with the processes.
func (s *Sandbox) saveProcesses(ctx context.Context, store *snapshot.Store, o SaveOptions, report event.Reporter) (snapshot.Snapshot, error) {
	if err := checkpoint.CheckLive(o.Live); err != nil {
		return snapshot.Snapshot{}, err
	}
	r, state, err := s.session().State()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	meta := files.Meta(r, state, o.Name, o.Description)
	meta.Seer = s.engine.opts.Version
	return s.engine.starter.Checkpointer.Save(ctx, s.session(), store, meta, report)
}
