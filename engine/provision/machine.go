// Package provision makes a sandbox of a machine: it rents the machine, boots the runtime on
// it and brings there what the experiment wants. It also says why a machine has ended.
package provision

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/lease"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// RuntimePort is where the runtime listens on a machine that has ports.
const RuntimePort = 8717

// How long a machine that runs may take to answer. A rented one may have an image to
// fetch, and waits as long for us.
const (
	BootTimeout       = 2 * time.Minute
	RentedBootTimeout = 10 * time.Minute
)

// EndTimeout bounds the ending of a sandbox whose start has failed.
const EndTimeout = time.Minute

// SetupLease is how long a machine outlives a program that dies while it provisions it. Only
// a sandbox that is whole gets a lease of its own.
const SetupLease = 2 * time.Minute

// leaseTimeout is for a sandbox that is asked about its lease.
const leaseTimeout = 5 * time.Second

// LocalPoll is short: a machine of this computer is there within a second, and a look at it
// costs nothing.
const LocalPoll = 10 * time.Millisecond

// Machine is one that was started, and the way to it.
type Machine struct {
	Record machine.Record
	Client *client.Client
	Lease  *lease.Keeper
	Choice plan.Choice // of the plan that it was started for; empty otherwise
}

// Connector makes the ways to machines.
type Connector struct {
	Ledger *machine.Ledger
	Ended  func(context.Context, machine.Record) error // nil unless the machine is known to have ended
	Local  func() (sdk.Provider, error)                // the provider of this computer
	Routes machine.Routes                              // carries ports of machines to this computer
	Now    func() time.Time
	Logger hclog.Logger
}

// reachTimeout is for what carries the ports of a machine to start, if it does not run.
const reachTimeout = 15 * time.Second

// Connect makes the client of a machine in the ledger, and the keeper of its lease. It asks
// nobody. What carries its ports to this computer is started where it has died.
func (c Connector) Connect(r machine.Record) (Machine, error) {
	if len(r.Routes) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
		defer cancel()
		var err error
		if r, err = machine.Reach(ctx, c.Ledger, c.Routes, r); err != nil {
			return Machine{}, errdefs.Wrap(errdefs.KindProvider, err)
		}
	}
	endpoint, ok := r.Endpoint(r.Port)
	if !ok {
		return Machine{}, &errdefs.Error{Kind: errdefs.KindProvider, Err: fmt.Errorf("the sandbox %s cannot be reached: it is %s", r.ID, r.State)}
	}
	runtime, err := client.New(endpoint, r.AdminToken)
	if err != nil {
		return Machine{}, errdefs.Wrap(errdefs.KindInternal, err)
	}
	if r.Provider == local.Name && r.Isolation == isolation.GVisor {
		runtime.Mend(func(ctx context.Context) bool { return c.listensAgain(ctx, r.Handle) })
	}
	if len(r.Routes) > 0 {
		runtime.Mend(func(ctx context.Context) bool {
			now, err := machine.Reach(ctx, c.Ledger, c.Routes, r)
			return err == nil && now.Live()
		})
	}
	if r.Handle != "" && c.Ended != nil {
		runtime.Fate(func(ctx context.Context) error { return c.Ended(ctx, r) })
	}
	keeper := lease.New(r.ID, lease.Options{
		Ledger: c.Ledger, Ended: c.Ended, Now: c.Now, Logger: c.Logger,
		Runtime: func(ctx context.Context, request protocol.LeaseRequest) error {
			_, err := runtime.PutLease(ctx, request)
			return err
		},
	})
	return Machine{Record: r, Client: runtime, Lease: keeper}, nil
}

// listensAgain has a machine of this computer that stands still to be saved listen again,
// after the program that saved it was killed.
func (c Connector) listensAgain(ctx context.Context, handle string) bool {
	p, err := c.Local()
	if err != nil {
		return false
	}
	seen, err := p.Observe(ctx, []string{handle})
	return err == nil && len(seen) == 1 && seen[0].State == sdk.Running
}

// AskLease asks a sandbox when its lease ends: use extends it there without the ledger
// knowing.
func (c Connector) AskLease(ctx context.Context, r machine.Record) (machine.Lease, error) {
	m, err := c.Connect(r)
	if err != nil {
		return machine.Lease{}, err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	l, err := m.Client.Lease(ctx)
	if err != nil {
		return machine.Lease{}, err
	}
	lease := r.Lease
	lease.End = l.Ends(c.Now())
	return lease, nil
}

// Close stops the heartbeats and drops the connection.
func (m Machine) Close() {
	m.Lease.Stop()
	m.Client.Close()
}

// ReportPorts tells where a port of the experiment is that is another one outside.
func ReportPorts(r machine.Record, ports []int, report event.Reporter) {
	for _, port := range ports {
		const here = "http://127.0.0.1:"
		if at, ok := r.Endpoint(port); ok && strings.HasPrefix(at, here) && at != fmt.Sprint(here, port) {
			report.Send(event.PortMoved{Port: port, URL: at})
		}
	}
}
