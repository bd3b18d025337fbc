package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/machine"
)

// Info is what is known of a sandbox. Its Environment has the keys of the sandbox, so only
// [Engine.Show] and [Sandbox.Info] return it, with the states of its services.
type Info = inventory.Info

// Lease is until when a sandbox lives.
type Lease = inventory.Lease

// ModelInfo is a model of a sandbox, for its user: also a hidden one has its name here.
type ModelInfo = inventory.ModelInfo

// Provenance says where a model or dataset is from, and of which bytes it consists.
type Provenance = inventory.Provenance

// ServiceInfo is an interface that a sandbox serves.
type ServiceInfo = inventory.ServiceInfo

// Open finds a live sandbox by its ID, an unambiguous beginning of it, or its name.
func (e *Engine) Open(ctx context.Context, ref string) (*Sandbox, error) {
	m, err := e.inventory.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	return e.sandbox(m), nil
}

// Sandboxes lists all sandboxes, the oldest first. It asks native providers for the states of
// theirs. It asks plugins only with refresh, and otherwise returns the states that were last
// seen. The error names providers that could not be asked; the list is valid nevertheless.
func (e *Engine) Sandboxes(ctx context.Context, refresh bool) ([]Info, error) {
	return e.inventory.List(ctx, refresh)
}

// Show returns everything about one sandbox, also one that has ended. It asks a live sandbox
// for its lease and services.
func (e *Engine) Show(ctx context.Context, ref string) (Info, error) {
	return e.inventory.Show(ctx, ref)
}

// Terminate ends a sandbox and everything in it. It is idempotent.
func (e *Engine) Terminate(ctx context.Context, ref string) error {
	return e.inventory.Terminate(ctx, ref)
}

// EndOverdue ends rented machines that still run after their time limit, and returns them.
// Machines of this computer have a program that does it.
func (e *Engine) EndOverdue(ctx context.Context) ([]Info, error) { return e.inventory.EndOverdue(ctx) }

// PruneOptions say what [Engine.Prune] removes.
type PruneOptions = cachegc.Options

// GC ends sandboxes whose time is over and removes what crashes left behind: of the providers
// in the ledger and of this computer, or of the named providers only, whether the ledger
// knows them or not. The report has the failures of single sandboxes and providers.
func (e *Engine) GC(ctx context.Context, providers ...string) (machine.GCReport, error) {
	return e.cleaner.GC(ctx, providers...)
}

// Prune removes cache entries that starts have made on this computer and nobody has used for
// long: layers of packages and repositories, unpacked images, saved systems, blinded copies
// of models. Entries that a sandbox, a snapshot or another entry needs stay. It returns the
// entries that it has removed, or would remove, even with an error.
func (e *Engine) Prune(ctx context.Context, o PruneOptions) ([]machine.GCItem, error) {
	return e.cleaner.Prune(ctx, o)
}
