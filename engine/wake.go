package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/progress"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/sdk"
)

// waking makes one new sandbox of saved processes.
type waking struct {
	engine   *Engine
	dir      string // with the processes; it is only read
	saved    savedSandbox
	spec     sdk.MachineSpec
	name     string
	attached time.Duration // 0 = detached
	timeout  time.Duration // 0 = as the original had
	idle     time.Duration
	report   progress.Reporter
	quiet    bool          // others tell the same
	boot     time.Duration // what starting and verifying may take
	// verified tells whether what is in dir is what was saved; nil where it has just been.
	// It waits until that is known, and nobody gets the sandbox before.
	verified func() error

	rec     machine.Record
	renewal protocol.Renewal
}

// waken reads what is in dir and refuses what does not fit, before anything is started.
func (e *Engine) waken(ctx context.Context, dir string) (waking, error) {
	m, err := e.localMemory(localName)
	if err != nil {
		return waking{}, err
	}
	w := waking{engine: e, dir: dir}
	if w.spec, err = m.Fits(ctx, dir); err != nil {
		return w, err
	}
	data, err := os.ReadFile(filepath.Join(dir, sandboxNote))
	if err == nil {
		err = json.Unmarshal(data, &w.saved)
	}
	if err == nil && w.saved.Version != 1 {
		err = fmt.Errorf("its version is %d", w.saved.Version)
	}
	if err != nil {
		return w, fmt.Errorf("what was saved of the sandbox cannot be read: %w", err)
	}
	if w.boot, err = wakingTime(dir); err != nil {
		return w, err
	}
	w.timeout = seconds(w.spec.TimeoutSeconds)
	w.idle = seconds(w.saved.Record.Lease.IdleSeconds)
	return w, nil
}

// run starts the sandbox. What was started of one that fails is ended.
func (w waking) run(ctx context.Context) (*Sandbox, error) {
	err := w.start(ctx)
	var damage error
	if w.verified != nil {
		damage = w.verified()
	}
	if err != nil {
		return nil, cmp.Or(damage, err) // what is damaged does not start
	}
	var s *Sandbox
	if err = damage; err == nil {
		s, err = w.settle(ctx)
	}
	if err == nil {
		return s, nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	_, ended := w.engine.driver.End(end, w.rec, err.Error())
	return nil, errors.Join(err, ended)
}

func (w *waking) start(ctx context.Context) error {
	from := w.saved.Record
	r := machine.NewRecord()
	r.Name, r.Network, r.Owner = w.name, w.spec.Network, w.engine.ledger.Owner()
	r.AdminToken, r.ExperimentFile, r.Models = protocol.NewToken(), from.ExperimentFile, from.Models
	r.Lease = machine.NewLease(machine.Attached, max(w.ttl(), w.boot), w.engine.now())
	r.Lease.IdleSeconds = int64(w.idle / time.Second)
	w.renewal = protocol.Renewal{Copy: true, AdminSHA256: protocol.HashToken(r.AdminToken), BootSeconds: w.boot.Seconds(), Services: map[string]string{}}
	for _, v := range from.Services {
		v.Token, v.OutDir, v.Connection, v.ServedAt = protocol.NewToken(), "", "", w.engine.now()
		w.renewal.Services[v.Name] = protocol.HashToken(v.Token)
		r.Services = append(r.Services, v)
	}
	if err := session.SetState(&r, func(state *session.State) { *state, state.Verifying = w.saved.Session, true }); err != nil {
		return err
	}
	spec := w.spec
	spec.Name, spec.TimeoutSeconds = r.Name, int64(w.timeout/time.Second)
	choice := machine.Choice{Provider: localName, Spec: spec, Isolation: isolation.GVisor, LongestPoll: localPoll, Prepare: func(spec *sdk.MachineSpec) error {
		w.renewal.EndUnix = spec.EndUnix
		told, err := json.Marshal(w.renewal)
		if err != nil {
			return err
		}
		data, err := json.Marshal(local.Restore{Dir: w.dir, Renewal: told})
		spec.Env = map[string]string{local.RestoreVariable: string(data)}
		return err
	}}
	var err error
	w.rec, err = w.engine.driver.Start(ctx, r, []machine.Choice{choice}, func(ev machine.Event) {
		if ev.Kind == machine.EventLog && !w.quiet {
			w.report.Log(StageMachine, ev.Text)
		}
	})
	return err
}

func (w *waking) ttl() time.Duration {
	return cmp.Or(w.attached, min(furnishing, w.timeout))
}

// settle gives the sandbox its lease, and what runs in it keys of its own. Whoever opens the
// sandbox before all of it is done is refused.
func (w *waking) settle(ctx context.Context) (*Sandbox, error) {
	s, err := w.engine.open(w.rec)
	if err != nil {
		return nil, err
	}
	s.lease.Start(ctx, w.rec, w.ttl(), w.idle)
	if err := w.renew(ctx, s); err != nil {
		s.lease.Stop()
		return nil, err
	}
	return s, nil
}

// release has the sandbox live without this program, if it is to. One that cannot be
// released is ended.
func (w *waking) release(ctx context.Context, s *Sandbox) error {
	if w.attached > 0 {
		return nil
	}
	err := s.Detach(ctx, w.timeout)
	if err == nil {
		return nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return errors.Join(err, s.Terminate(end), s.Close())
}

func (w *waking) renew(ctx context.Context, s *Sandbox) error {
	boot, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if err := s.lease.Put(boot, w.rec, machine.Attached, w.ttl(), w.idle); err != nil {
		return err
	}
	s.lease.Booted()
	return s.session().RotateKeys(ctx, w.saved.Session, w.engine.findCodeServer)
}
