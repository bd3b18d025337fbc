// Package checkpoint saves running sandboxes as snapshots: their files, or on this computer
// also their processes with their memory. It starts new sandboxes that go on where processes
// were.
package checkpoint

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Checkpointer saves and restores processes. All fields must be set.
type Checkpointer struct {
	Store         *state.Store                 // where saved processes are on their way
	Local         func() (sdk.Provider, error) // the provider of this computer
	LocalReplaced func() bool                  // another one has taken its name
	Ledger        provision.Ledger
	Driver        Driver
	// Connect makes the way to a machine that was started.
	Connect func(machine.Record) (provision.Machine, error)
	// Terminate ends a sandbox and everything in it.
	Terminate      func(ctx context.Context, id string) error
	FindCodeServer func() (codeserver.Program, error)
	Now            func() time.Time
}

// Driver starts and ends machines.
type Driver interface {
	Start(ctx context.Context, r machine.Record, choices []machine.Choice, onEvent func(machine.Event)) (machine.Record, error)
	End(ctx context.Context, r machine.Record, why string) (machine.Record, error)
}

// saved is what the ledger knew of a sandbox whose processes were saved, without its keys.
type saved struct {
	Version int            `json:"version"`
	Record  machine.Record `json:"record"`
	Session session.State  `json:"session"` // its secrets open nothing but what was saved, and are replaced
}

// CheckSavable tells at once all of a sandbox for which its processes cannot be saved. It is
// [errdefs.KindUnsupported].
func (c Checkpointer) CheckSavable(ctx context.Context, s session.Session) error {
	r, state, err := s.State()
	if err != nil {
		return err
	}
	if _, err := c.memory(r.Provider); err != nil {
		return err
	}
	if state.Jupyter != nil { // processes without it would not be restored
		if err := s.CheckJupyter(ctx); err != nil {
			return err
		}
	}
	var wanted []string
	if r.Isolation != isolation.GVisor {
		wanted = append(wanted, "isolation: gvisor")
	}
	if r.Network != "none" && r.Network != "hosts" {
		wanted = append(wanted, "network: none (or a list of hosts)")
	}
	if len(wanted) == 0 {
		return nil
	}
	return unsupported("the processes of %s cannot be saved: it has isolation %s and network %s; start it with %s", s.ID, r.Isolation, r.Network, strings.Join(wanted, " and "))
}

// memory is the provider of this computer as far as it saves processes.
func (c Checkpointer) memory(provider string) (local.Memory, error) {
	if provider != local.Name || c.LocalReplaced() {
		return nil, notSavable(provider)
	}
	p, err := c.Local()
	if err != nil {
		return nil, err
	}
	if m, ok := p.(local.Memory); ok {
		return m, nil
	}
	return nil, notSavable(provider)
}

// notSavable is the error of a provider that cannot save processes.
func notSavable(provider string) error {
	return unsupported("the provider %s cannot save processes; only this computer's can, in isolation gvisor", provider)
}

func unsupported(format string, args ...any) error {
	return &errdefs.Error{Kind: errdefs.KindUnsupported, Err: fmt.Errorf(format, args...)}
}
