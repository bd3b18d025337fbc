// Package start takes an experiment to its sandbox. Before anything is rented it checks the
// experiment, has the user confirm it, fetches what it needs and hides the names of models.
// Then it has the sandbox provisioned, or restored with its processes.
package start

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/offers"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/trust/effects"
	"github.com/seer-engine/seer/sdk"
)

// Options say how a sandbox is made.
type Options struct {
	// Name is another way to find the sandbox. Two live sandboxes cannot have the same
	// one. Empty = none.
	Name string
	// Attached is how long the sandbox outlives the program that made it. The
	// sandbox keeps the lease alive until it is closed. 0 = a detached lease, which
	// lasts for the experiment's timeout.
	Attached time.Duration
	// Snapshot is the name or ID of one whose files are put into the sandbox, in the place of
	// those of the experiment; empty = none.
	// Keys, ports and processes are the new sandbox's own.
	Snapshot string
	// Agent says that the caller will run the experiment's agent on this computer. Its
	// effects are then confirmed together with those of the sandbox.
	Agent bool
	// Confirmed is called once the user has confirmed the effects, before anything is rented,
	// built or started. Its error ends the start.
	Confirmed func() error
	CheckOptions
	Progress event.Func
}

// Starter starts sandboxes. All fields must be set, but for the last one.
type Starter struct {
	Plugins *registry.Registry
	Store   *state.Store
	Paths   paths.Paths
	Python  *pyenv.Finder
	Ledger  Ledger
	Builder *build.Builder
	Guard   *effects.Guard
	Logins  *image.Logins
	Copies  blinding.Copies

	Manifests models.Manifests // of models and datasets

	Offers     offers.Source                // asks a provider what it has
	Local      func() (sdk.Provider, error) // the provider of this computer
	Snapshots  func() (*snapshot.Store, error)
	CodeServer codeserver.Finder

	Provisioner  provision.Provisioner
	Checkpointer checkpoint.Checkpointer
	PruneDaily   func(context.Context) // is called after the start of a machine

	LookupEnv func(string) (string, bool)
	Now       func() time.Time
	Logger    hclog.Logger

	Unsearched bool // of tests: nothing is searched for the names of hidden models
}

// Ledger is where the records of sandboxes are.
type Ledger interface {
	session.Ledger
	// Begin notes that a start goes on, until end is called.
	Begin(ctx context.Context) (end func(), err error)
}

// Start makes the sandbox of an experiment: the machine, the runtime on it, the models,
// files, variables and secrets. Everything that can be checked is checked first. When it
// fails or ctx ends, what was rented has been ended.
func (s *Starter) Start(ctx context.Context, exp *experiment.Experiment, o Options) (provision.Machine, error) {
	if err := s.Plugins.Usable(); err != nil {
		return provision.Machine{}, err
	}
	p := &preparation{Starter: s, exp: withMode(exp), opts: o, report: event.NewReporter("", event.SourceEngine, s.Now, o.Progress)}
	if store, saved, err := p.processes(ctx); err != nil || store != nil {
		if err != nil {
			return provision.Machine{}, err
		}
		m, err := p.restoreProcesses(ctx, store, saved)
		return m, errdefs.Wrap(errdefs.KindProvider, err)
	}
	end, err := s.Ledger.Begin(ctx) // so that nobody removes what it finds before its record says so
	if err != nil {
		return provision.Machine{}, errdefs.Wrap(errdefs.KindInternal, err)
	}
	defer end()
	if err := p.prepare(ctx); err != nil {
		return provision.Machine{}, err
	}
	m, err := s.Provisioner.Start(ctx, p.request())
	if err != nil {
		return provision.Machine{}, errdefs.Wrap(errdefs.KindProvider, p.withHolders(ctx, err))
	}
	p.report.Send(event.SandboxReady{Sandbox: m.Record.ID})
	s.PruneDaily(ctx)
	return m, nil
}
