package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/sdk"
)

// restorer makes one new sandbox of saved processes.
type restorer struct {
	Checkpointer
	dir      string // with the processes; it is only read
	from     saved
	spec     sdk.MachineSpec
	name     string
	attached time.Duration // 0 = detached
	timeout  time.Duration // 0 = as the original had
	idle     time.Duration
	report   event.Reporter
	share    string        // the handle of the machine whose GPUs it shares; empty = its own
	quiet    bool          // others report the same
	boot     time.Duration // what starting and verifying may take
	// verified tells whether what is in dir is what was saved; nil where it has just been.
	// It waits until that is known, and nobody gets the sandbox before.
	verified func() error

	rec     machine.Record
	renewal protocol.Renewal
}

// restorer reads what is in dir and refuses what does not fit, before anything is started.
func (c Checkpointer) restorer(ctx context.Context, dir string) (restorer, error) {
	m, err := c.memory(local.Name)
	if err != nil {
		return restorer{}, err
	}
	r := restorer{Checkpointer: c, dir: dir}
	if r.spec, err = m.Fits(ctx, dir); err != nil {
		return r, err
	}
	data, err := os.ReadFile(filepath.Join(dir, note))
	if err == nil {
		err = json.Unmarshal(data, &r.from)
	}
	if err == nil && r.from.Version != 1 {
		err = fmt.Errorf("its version is %d", r.from.Version)
	}
	if err != nil {
		return r, fmt.Errorf("the saved state of the sandbox cannot be read: %w", err)
	}
	if r.boot, err = bootTime(dir); err != nil {
		return r, err
	}
	r.timeout = time.Duration(r.spec.TimeoutSeconds) * time.Second
	r.idle = time.Duration(r.from.Record.Lease.IdleSeconds) * time.Second
	return r, nil
}

// run starts the sandbox. What was started of one that fails is ended.
func (r restorer) run(ctx context.Context) (provision.Machine, error) {
	err := r.start(ctx)
	var damage error
	if r.verified != nil {
		damage = r.verified()
	}
	if err != nil {
		return provision.Machine{}, cmp.Or(damage, err) // what is damaged does not start
	}
	var m provision.Machine
	if err = damage; err == nil {
		m, err = r.configure(ctx)
	}
	if err == nil {
		return m, nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), provision.EndTimeout)
	defer cancel()
	_, ended := r.Driver.End(end, r.rec, err.Error())
	return provision.Machine{}, errors.Join(err, ended)
}

func (r *restorer) start(ctx context.Context) error {
	rec, err := r.record()
	if err != nil {
		return err
	}
	spec := r.spec
	spec.Name, spec.TimeoutSeconds = rec.Name, int64(r.timeout/time.Second)
	choice := machine.Choice{Provider: local.Name, Spec: spec, GPU: r.from.Record.GPU, Isolation: isolation.GVisor, LongestPoll: provision.LocalPoll, Prepare: func(spec *sdk.MachineSpec) error {
		r.renewal.EndUnix = spec.EndUnix
		renewal, err := json.Marshal(r.renewal)
		if err != nil {
			return err
		}
		data, err := json.Marshal(local.Restore{Dir: r.dir, Renewal: renewal, Share: r.share})
		spec.Env = map[string]string{local.RestoreVariable: string(data)}
		return err
	}}
	r.rec, err = r.Driver.Start(ctx, rec, []machine.Choice{choice}, func(ev machine.Event) {
		if ev.Kind == machine.EventLog && !r.quiet {
			r.report.Output(event.StageMachine, ev.Text)
		}
	})
	return err
}

// record is that of the new sandbox. It notes in the renewal what the runtime must know of it.
func (r *restorer) record() (machine.Record, error) {
	from := r.from.Record
	rec := machine.NewRecord()
	rec.Name, rec.Network, rec.Owner = r.name, r.spec.Network, r.Ledger.Owner()
	rec.AdminToken, rec.ExperimentFile, rec.Models = protocol.NewToken(), from.ExperimentFile, from.Models
	rec.Lease = machine.NewLease(machine.Attached, max(r.ttl(), r.boot), r.Now())
	rec.Lease.IdleSeconds = int64(r.idle / time.Second)
	r.renewal = protocol.Renewal{Copy: true, AdminSHA256: protocol.HashToken(rec.AdminToken), BootSeconds: r.boot.Seconds(), Services: map[string]string{}}
	for _, v := range from.Services {
		v.Token, v.OutDir, v.Connection, v.ServedAt = protocol.NewToken(), "", "", r.Now()
		r.renewal.Services[v.Name] = protocol.HashToken(v.Token)
		rec.Services = append(rec.Services, v)
	}
	err := session.SetState(&rec, func(state *session.State) { *state, state.Verifying = r.from.Session, true })
	return rec, err
}

func (r *restorer) ttl() time.Duration {
	return cmp.Or(r.attached, min(provision.SetupLease, r.timeout))
}

// configure gives the sandbox its lease, and what runs in it keys of its own. Until it is
// done, the engine refuses to open the sandbox.
func (r *restorer) configure(ctx context.Context) (provision.Machine, error) {
	m, err := r.Connect(r.rec)
	if err != nil {
		return m, err
	}
	m.Lease.Start(ctx, r.rec, r.ttl(), r.idle)
	err = r.awaitGPUs(ctx, m)
	if err == nil {
		err = r.rotate(ctx, m)
	}
	if err != nil {
		m.Close()
		return provision.Machine{}, err
	}
	return m, nil
}

// awaitGPUs waits until the processes are back on their GPUs.
func (r *restorer) awaitGPUs(ctx context.Context, m provision.Machine) error {
	if r.from.Record.GPU == "" {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, r.boot)
	defer cancel()
	return m.Client.Thaw(limited)
}

func (r *restorer) rotate(ctx context.Context, m provision.Machine) error {
	boot, cancel := context.WithTimeout(ctx, provision.BootTimeout)
	defer cancel()
	if err := m.Lease.Put(boot, r.rec, machine.Attached, r.ttl(), r.idle); err != nil {
		return err
	}
	m.Lease.Booted()
	s := session.Session{ID: r.rec.ID, Ledger: r.Ledger, Client: m.Client}
	return s.RotateKeys(ctx, r.from.Session, r.FindCodeServer)
}

// release has the sandbox live without this program, if it is to. One that cannot be
// released is ended.
func (r *restorer) release(ctx context.Context, m provision.Machine) error {
	if r.attached > 0 {
		return nil
	}
	err := m.Lease.Detach(ctx, r.timeout)
	if err == nil {
		return nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), provision.EndTimeout)
	defer cancel()
	m.Lease.Stop()
	err = errors.Join(err, r.Terminate(end, m.Record.ID))
	m.Close()
	return err
}
