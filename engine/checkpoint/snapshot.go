package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// Restoration says what a sandbox is made of, and how.
type Restoration struct {
	Store      *snapshot.Store
	Snapshot   snapshot.Snapshot // of kind [snapshot.Memory]
	Experiment *experiment.Experiment
	Name       string
	Attached   time.Duration // 0 = detached
	// Vouched refuses a snapshot that nobody whom the user trusts has signed.
	Vouched func(context.Context, snapshot.Snapshot) error
	// Confirm asks before the processes are shown folders of this computer.
	Confirm func(context.Context, snapshot.Snapshot, sdk.MachineSpec) error
	Report  event.Reporter
}

// Restore makes a sandbox that goes on with the processes of a snapshot. An experiment that
// wants another sandbox than they are of is [errdefs.KindConfig].
func (c Checkpointer) Restore(ctx context.Context, from Restoration) (provision.Machine, error) {
	if err := from.checkIsolation(); err != nil {
		return provision.Machine{}, err
	}
	if err := from.Vouched(ctx, from.Snapshot); err != nil {
		return provision.Machine{}, err
	}
	dir, done, err := c.workFolder(ctx)
	if err != nil {
		return provision.Machine{}, err
	}
	defer done()
	from.Report.Send(event.ProcessesRestoring{Snapshot: from.Snapshot.Name, Bytes: from.Snapshot.Bytes})
	verification, err := unpackMemory(ctx, from.Store, from.Snapshot, dir)
	if err != nil {
		return provision.Machine{}, err
	}
	defer verification.stop()
	r, err := c.restorer(ctx, dir)
	if err != nil {
		return provision.Machine{}, err
	}
	if err := from.Confirm(ctx, from.Snapshot, r.spec); err != nil {
		return provision.Machine{}, err
	}
	if err := from.checkFits(r); err != nil {
		return provision.Machine{}, err
	}
	want := from.Experiment.Sandbox
	r.name, r.attached, r.timeout, r.idle, r.report, r.verified = from.Name, from.Attached, want.Timeout, want.IdleTimeout, from.Report, verification.result
	m, err := r.run(ctx)
	if err == nil {
		err = r.release(ctx, m)
	}
	if err != nil {
		return provision.Machine{}, err
	}
	provision.ReportPorts(m.Record, want.Ports, from.Report)
	from.Report.Send(event.SandboxResumed{Sandbox: m.Record.ID, Snapshot: from.Snapshot.Name})
	return m, nil
}

func (from Restoration) checkIsolation() error {
	want := from.Experiment.Sandbox.Isolation
	if want == "" || want == isolation.Auto || want == isolation.GVisor {
		return nil
	}
	return from.mismatch("sandbox.isolation", fmt.Sprintf("the snapshot %s has processes, which go on in isolation gvisor only, and the experiment says %s", from.Snapshot.Name, want), isolation.GVisor)
}

func (from Restoration) checkFits(r restorer) error {
	want, name := from.Experiment.Sandbox, from.Snapshot.Name
	if r.spec.Network != want.Network {
		set := r.spec.Network
		if set == "hosts" {
			set = "[" + strings.Join(r.spec.NetworkHosts, ", ") + "]"
		}
		return from.mismatch("sandbox.network", fmt.Sprintf("the processes of %s have the network %s, and the experiment wants %s", name, r.spec.Network, want.Network), set)
	}
	if mode := r.from.Session.Mode; mode != want.ExecutionMode {
		return from.mismatch("sandbox.execution_mode", fmt.Sprintf("the processes of %s are those of the execution_mode %s, and the experiment has %s", name, cmp.Or(mode, "null"), cmp.Or(want.ExecutionMode, "null")), cmp.Or(mode, "null"))
	}
	if here := r.from.Record.GPU; len(want.GPU) > 0 && !slices.ContainsFunc(want.GPU, func(wanted string) bool { return gpu.Match(strings.TrimSuffix(wanted, "!"), here) }) {
		return from.mismatch("sandbox.gpu", fmt.Sprintf("the processes of %s have the GPU %s, and the experiment wants %s", name, cmp.Or(here, "null"), strings.Join(want.GPU, ", ")), cmp.Or(here, "null"))
	}
	return nil
}

// mismatch is the error of an experiment that wants another sandbox than the saved processes
// are of; set is what would be the same.
func (from Restoration) mismatch(path, message, set string) error {
	return &errdefs.Error{Kind: errdefs.KindConfig, Err: from.Experiment.Errorf(path, message, fmt.Sprintf("set %s: %s", path, set))}
}
