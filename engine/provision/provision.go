package provision

import (
	"context"
	"errors"
	"time"

	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/workspace"
)

// Request says what a sandbox is to be. It has been checked and confirmed.
type Request struct {
	Experiment *experiment.Experiment
	Plan       plan.Plan
	Name       string        // another way to find it; empty = none
	Attached   time.Duration // 0 = a detached lease, for the experiment's timeout
	MaxWait    time.Duration // for a machine while none is free; 0 = not at all
	Patience   time.Duration // for one in the queue of a provider, while other providers are left; 0 = the driver's
	Models     []machine.Model
	Remotes    []*RemoteModel // of Models, in their order; nil = the model is on this computer
	Secrets    map[string]string
	Hidden     namesearch.Names // names of models that the agent must not find

	Installation *build.Installation
	Contents     workspace.Workspace // of the working folder
	CodeServer   session.CodeServer  // Program is this computer's; nil = the machine's own
	Snapshots    *snapshot.Store
	Snapshot     string // name or ID of one whose files take the place of Contents; empty = none

	// Scan looks on the machine for what the agent must not find, once all of it is there.
	Scan   func(context.Context, Machine) error
	Report event.Reporter
}

// Provisioner makes sandboxes. All fields must be set.
type Provisioner struct {
	Driver        Driver
	Ledger        Ledger
	Connect       func(machine.Record) (Machine, error)
	Observer      Observer
	Native        func(provider string) bool // looking at its machines costs nothing
	RuntimeBinary func(goos, goarch string) (string, error)
	Python        func(executable string) (isolation.Interpreter, error) // of this computer
	Bytecode      func(context.Context) []byte                           // of the notebook service, for that Python
	Now           func() time.Time
}

// Ledger is where the records of sandboxes are.
type Ledger interface {
	session.Ledger
	Owner() string // of new records
}

// Driver starts, saves and ends machines.
type Driver interface {
	Start(ctx context.Context, r machine.Record, choices []machine.Choice, onEvent func(machine.Event)) (machine.Record, error)
	Snapshot(ctx context.Context, r machine.Record, onEvent func(machine.Event)) (string, error)
	End(ctx context.Context, r machine.Record, why string) (machine.Record, error)
}

// remote is how the machine gets a model by itself; nil = it does not.
func (r Request) remote(i int) *RemoteModel {
	if i >= len(r.Remotes) {
		return nil
	}
	return r.Remotes[i]
}

// Start makes a sandbox: it builds what the machine starts from, rents the machine and sets
// it up. When it fails or ctx ends, what was rented has been ended.
func (p Provisioner) Start(ctx context.Context, r Request) (Machine, error) {
	if err := r.Installation.Ensure(ctx, builder{p, r}); err != nil {
		return Machine{}, err
	}
	s := &start{Provisioner: p, Request: r}
	s.prepare = s.install
	err := s.run(ctx)
	return s.machine, err
}

// start is that of one machine, step by step.
type start struct {
	Provisioner
	Request
	build   *build.Machine              // what the machine is made to build; nil for a sandbox
	prepare func(context.Context) error // brings to a machine that answers what it is made for

	machine        Machine           // as far as it has got
	chosen         plan.Choice       // whose machine it became
	unexposedPorts bool              // no way leads to the session's ports but the runtime's
	env            pkginstall.Result // what was installed on it
	placed         bool              // models are on the machine, and no snapshot changes its files any more
	folder         string            // the working folder as processes see it
}

// run rents a machine and sets it up. Then it takes further steps.
func (s *start) run(ctx context.Context, further ...Step) error {
	return Run(ctx, append([]Step{
		{Do: s.rent, Undo: s.end},
		{Do: s.setUp, Undo: func(context.Context, error) error { s.machine.Close(); return nil }},
	}, further...)...)
}

// setUp boots the runtime and puts everything into the sandbox. It is given up when the
// machine ends.
func (s *start) setUp(ctx context.Context) error {
	pause := 10 * time.Second
	if s.Native(s.machine.Record.Provider) {
		pause = time.Second
	}
	living, stop := s.Observer.Lifetime(ctx, s.machine.Record, pause)
	defer stop()
	err := Run(living,
		Step{Do: s.connect, Undo: func(context.Context, error) error { s.machine.Close(); return nil }},
		Step{Do: s.boot},
		Step{Do: s.configure},
		Step{Do: s.prepare},
		Step{Do: s.detach})
	if err != nil && ctx.Err() == nil {
		err = s.explain(ctx, err)
	}
	return err
}

// explain puts the end of the machine in the place of what it led to.
func (s *start) explain(ctx context.Context, cause error) error {
	err := s.Observer.Explain(ctx, s.machine.Record, "while it was started", cause, client.Ended(cause))
	if memoryFull(err) {
		return &errdefs.Error{Kind: errdefs.KindConfig, Err: s.Experiment.MemoryFull(err)}
	}
	return err
}

// end ends a machine whose start has failed. The start's own context may be the reason of
// the failure, so it is not used.
func (s *start) end(ctx context.Context, cause error) error {
	why, cancelled := cause.Error(), errors.Is(cause, context.Canceled)
	if cancelled {
		why = "the start was cancelled"
	}
	s.Report.Send(event.MachineEnding{Cancelled: cancelled})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), EndTimeout)
	defer cancel()
	_, err := s.Driver.End(ctx, s.machine.Record, why)
	return err
}
