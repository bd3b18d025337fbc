package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// open makes the client of a sandbox in the ledger.
func (e *Engine) open(r machine.Record) (*Sandbox, error) {
	m, err := e.connector().Connect(r)
	if err != nil {
		return nil, err
	}
	return e.sandbox(m), nil
}

func (e *Engine) sandbox(m provision.Machine) *Sandbox {
	return &Sandbox{engine: e, id: m.Record.ID, runtime: m.Client, lease: m.Lease}
}

func (e *Engine) connector() provision.Connector {
	return provision.Connector{Ledger: e.ledger, Ended: e.observer().Ended, Listens: e.listensAgain, Now: e.now, Logger: e.log}
}

// observer finds out that a machine has ended, and why.
func (e *Engine) observer() provision.Observer {
	return provision.Observer{Provider: e.plugins.Provider, Record: e.ledger.Get}
}

// listensAgain has a machine of this computer that stands still to be saved listen again,
// after the program that saved it was killed.
func (e *Engine) listensAgain(ctx context.Context, handle string) bool {
	p, err := e.local()
	if err != nil {
		return false
	}
	seen, err := p.Observe(ctx, []string{handle})
	return err == nil && len(seen) == 1 && seen[0].State == sdk.Running
}

// Open finds a live sandbox by its ID, an unambiguous beginning of it, or its name.
func (e *Engine) Open(ctx context.Context, ref string) (*Sandbox, error) {
	r, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !r.Live() {
		return nil, &Error{Kind: KindNotFound, Err: fmt.Errorf("the sandbox %s has ended: %s", r.ID, orText(r.Message, string(r.State)))}
	}
	if err := session.CheckReady(r); err != nil {
		return nil, err
	}
	return e.open(r)
}

// find resolves a reference and, where that costs nothing, sees how the sandbox is.
func (e *Engine) find(ctx context.Context, ref string) (machine.Record, error) {
	r, err := e.ledger.Resolve(ref)
	if err != nil {
		return r, as(KindNotFound, err)
	}
	if !r.Live() || !e.plugins.Native(r.Provider) {
		return r, nil
	}
	all, err := e.driver.Refresh(ctx, r.Provider)
	for _, fresh := range all {
		if fresh.ID == r.ID {
			return fresh, nil
		}
	}
	return r, as(KindProvider, err)
}

// lateTime covers what is known of clouds: a machine that appears 30 s after it was asked
// for, a creation that takes 25 s, and a list that is some seconds behind.
const lateTime = 90 * time.Second

func (e *Engine) late(provider string) time.Duration {
	if e.plugins.Native(provider) {
		return 0
	}
	return lateTime
}

// Sandboxes lists all sandboxes, the oldest first. Native providers are asked how
// theirs are; those of plugins only with refresh, and otherwise shown as they
// were last seen. The error tells which provider could not be asked; the list is
// returned nevertheless.
func (e *Engine) Sandboxes(ctx context.Context, refresh bool) ([]Info, error) {
	records, err := e.ledger.List()
	var ask []string
	for _, r := range records {
		if r.Live() && (refresh || e.plugins.Native(r.Provider)) {
			ask = append(ask, r.Provider)
		}
	}
	if len(ask) > 0 {
		records, err = e.driver.Refresh(ctx, ask...)
	}
	infos := []Info{}
	for _, r := range records {
		infos = append(infos, infoOf(r, e.now()))
	}
	return infos, as(KindProvider, err)
}

// Show tells everything about one sandbox, also one that has ended. A live one is
// asked itself about its lease and services.
func (e *Engine) Show(ctx context.Context, ref string) (Info, error) {
	r, err := e.find(ctx, ref)
	if err != nil {
		return Info{}, err
	}
	info := infoOf(r, e.now())
	handle := session.HandleOf(r)
	info.Environment = &handle
	if r.State != sdk.Running {
		return info, nil
	}
	s, err := e.open(r)
	if err != nil {
		return info, nil
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, err := s.runtime.Health(ctx)
	if err != nil {
		info.Message = err.Error()
		return info, nil
	}
	info.Lease.Ends = time.Unix(h.Lease.EndUnix, 0)
	for i := range info.Services {
		info.Services[i].State = orText(string(h.Services[info.Services[i].Name]), "stopped")
	}
	return info, nil
}

// askLease is how the driver learns of use that extended a lease.
func (e *Engine) askLease(ctx context.Context, r machine.Record) (machine.Lease, error) {
	s, err := e.open(r)
	if err != nil {
		return machine.Lease{}, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	l, err := s.runtime.Lease(ctx)
	if err != nil {
		return machine.Lease{}, err
	}
	lease := r.Lease
	lease.End = time.Unix(l.EndUnix, 0)
	return lease, nil
}

// Terminate ends a sandbox and everything in it. It is idempotent.
func (e *Engine) Terminate(ctx context.Context, ref string) error {
	r, err := e.ledger.Resolve(ref)
	if err != nil {
		return as(KindNotFound, err)
	}
	e.plugins.SawExperiment(r.ExperimentFile)
	r = e.driver.Recognize(ctx, r)
	if s, err := e.open(r); err == nil && r.Live() {
		// Asked nicely it flushes its logs; the provider ends it in any case.
		nice, cancel := context.WithTimeout(ctx, 2*time.Second)
		_ = s.runtime.Shutdown(nice)
		cancel()
		s.Close()
	}
	if _, err = e.driver.End(ctx, r, "ended by the user"); err != nil {
		return as(KindProvider, err)
	}
	return as(KindInternal, e.store.RemovePageDir(r.ID))
}

// EndOverdue ends the rented machines that have not ended by themselves at the end that was
// set for them, and tells which. Machines of this computer have a program that does it.
func (e *Engine) EndOverdue(ctx context.Context) ([]Info, error) {
	ended, err := e.driver.EndOverdue(ctx, func(provider string) bool { return provider != localName })
	infos := []Info{}
	for _, r := range ended {
		infos = append(infos, infoOf(r, e.now()))
	}
	return infos, as(KindProvider, err)
}

// CheckProviders finds that there are providers of these names. One that is not there is
// [KindPlugin].
func (e *Engine) CheckProviders(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := e.plugins.Provider(ctx, name); err != nil {
			return as(KindPlugin, err)
		}
	}
	return nil
}

// GC ends sandboxes that have no right to live any more and removes what
// crashes left behind: of the providers in the ledger and of this computer, or of
// the named providers only, whether the ledger knows them or not. What failed for
// one sandbox or provider is in the report.
func (e *Engine) GC(ctx context.Context, providers ...string) (machine.GCReport, error) {
	if err := e.CheckProviders(ctx, providers...); err != nil {
		return machine.GCReport{}, err
	}
	report, err := e.driver.GC(ctx, machine.GCOptions{Only: providers, Also: []string{localName}})
	if err != nil {
		return report, as(KindProvider, err)
	}
	removed, err := e.collector().SweepPartials(ctx)
	report.Cleaned = append(report.Cleaned, asItems(removed)...)
	if err := errors.Join(err, e.sweepRelays(), e.store.SweepNotes(), e.sweepSnapshots(ctx), checkpoint.Sweep(e.store)); err != nil {
		return report, as(KindInternal, err)
	}
	if len(providers) > 0 && !slices.Contains(providers, localName) {
		return report, nil
	}
	dir, err := e.store.Dir("local")
	if err == nil {
		// What a killed writer left, where no machine was ended since, and the short
		// names of machines whose folders somebody has deleted.
		err = errors.Join(state.Sweep(dir), state.SweepLinks(e.store.RuntimeDir()),
			state.SweepLocks(filepath.Join(dir, "locks"), func(handle string) bool {
				_, note := os.Lstat(filepath.Join(dir, handle+".json"))
				_, folder := os.Lstat(filepath.Join(dir, handle))
				return note == nil || folder == nil
			}))
	}
	return report, as(KindInternal, err)
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
