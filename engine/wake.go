package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/snapshot"
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
	report   reporter
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
	r.AdminToken, r.ExperimentFile, r.Models, r.Labels = protocol.NewToken(), from.ExperimentFile, from.Models, maps.Clone(from.Labels)
	r.Lease = machine.NewLease(machine.Attached, max(w.ttl(), w.boot), w.engine.now())
	r.Lease.IdleSeconds = int64(w.idle / time.Second)
	w.renewal = protocol.Renewal{Copy: true, AdminSHA256: protocol.HashToken(r.AdminToken), BootSeconds: w.boot.Seconds(), Services: map[string]string{}}
	for _, v := range from.Services {
		v.Token, v.OutDir, v.Connection, v.ServedAt = protocol.NewToken(), "", "", w.engine.now()
		w.renewal.Services[v.Name] = protocol.HashToken(v.Token)
		r.Services = append(r.Services, v)
	}
	if err := setNote(&r, func(n *sessionNote) { *n, n.Verifying = w.saved.Session, true }); err != nil {
		return err
	}
	spec := w.spec
	spec.Name, spec.TimeoutSeconds = r.Name, int64(w.timeout/time.Second)
	choice := machine.Choice{Provider: localName, Spec: spec, Isolation: isolation.GVisor, LongestPoll: wakingPoll, Prepare: func(spec *sdk.MachineSpec) error {
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
		if ev.Kind == machine.EventLog {
			w.report.log(StageMachine, ev.Text)
		}
	})
	return err
}

// wakingPoll is short: processes are there again within a second, and a look at this
// computer's own machines takes less than a millisecond.
const wakingPoll = 10 * time.Millisecond

func (w *waking) ttl() time.Duration {
	return cmp.Or(w.attached, min(furnishing, w.timeout))
}

// settle gives the sandbox its lease, and what runs in it keys of its own.
func (w *waking) settle(ctx context.Context) (*Sandbox, error) {
	s, err := w.engine.open(w.rec)
	if err != nil {
		return nil, err
	}
	s.beat(ctx, w.rec, w.ttl(), w.idle)
	err = w.renew(ctx, s)
	if err == nil {
		err = w.engine.noteSession(ctx, s.id, func(n *sessionNote) { n.Verifying = false })
	}
	if err != nil {
		s.stopHeartbeat()
		return nil, err
	}
	if w.attached > 0 {
		return s, nil
	}
	return s, s.Detach(ctx, w.timeout)
}

func (w *waking) renew(ctx context.Context, s *Sandbox) error {
	boot, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if err := s.putLease(boot, w.rec, machine.Attached, w.ttl(), w.idle); err != nil {
		return err
	}
	s.booted.Store(true)
	if at := w.saved.Session.Jupyter; at != nil {
		own := listener{Port: at.Port, Secret: protocol.NewToken(), Base: newBase()}
		client := notebook.NewClient(s.notebookAddress(*at))
		err := client.Renew(ctx, own.Secret, own.Base)
		client.Close()
		if err != nil {
			return fmt.Errorf("give Jupyter a token of its own: %w", err)
		}
		if err := s.noteNotebook(ctx, own); err != nil {
			return err
		}
		if err := w.engine.noteSession(ctx, s.id, func(n *sessionNote) { n.Jupyter = &own }); err != nil {
			return err
		}
	}
	if at := w.saved.Session.CodeServer; at != nil {
		own := listener{Port: at.Port, Secret: protocol.NewToken(), Base: newBase()}
		if err := s.startCodeServer(ctx, own); err != nil {
			return err
		}
		return w.engine.noteSession(ctx, s.id, func(n *sessionNote) { n.CodeServer = &own })
	}
	return nil
}

const notebookConfig = "~/.seer/notebook/config.json"

// noteNotebook has a notebook service that is started again know its new token and path.
func (s *Sandbox) noteNotebook(ctx context.Context, own listener) error {
	data, err := s.ReadFile(ctx, notebookConfig)
	if KindOf(err) == KindNotFound || protocol.CodeOf(err) == protocol.NotFound {
		return nil // it was not written down
	}
	config := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err == nil {
		config["token"], err = json.Marshal(own.Secret)
	}
	if err == nil {
		config["base_url"], err = json.Marshal(own.Base)
	}
	if err == nil {
		data, err = json.Marshal(config)
	}
	if err != nil {
		return fmt.Errorf("note the new token of Jupyter: %w", err)
	}
	return s.WriteFile(ctx, notebookConfig, data, 0o600)
}

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
	dir, done, err := u.engine.memoryWork(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	u.report.info(StageSnapshot, "restoring the processes of %s: %s", saved.Name, bytesText(saved.Bytes))
	verification, err := unpackMemory(ctx, store, saved, dir)
	if err != nil {
		return nil, err
	}
	defer verification.stop()
	w, err := u.engine.waken(ctx, dir)
	if err != nil {
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
		u.tellPorts(w.rec)
		u.report.done(StageBoot, "sandbox %s goes on where %s was", s.id, saved.Name)
	}
	return s, err
}

// unlike is the error of an experiment that wants another sandbox than the saved processes
// are of; set is what would be the same.
func (u *up) unlike(path, message, set string) error {
	return &Error{KindConfig, u.exp.Errorf(path, message, fmt.Sprintf("set %s: %s", path, set))}
}
