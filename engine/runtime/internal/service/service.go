// Package service keeps the services of a machine: it loads the code of each in a worker, a Python
// process, replaces and restarts workers, and continues with those of an earlier runtime.
package service

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/spool"
	"github.com/seer-engine/seer/sdk"
)

const (
	defaultLoadTimeout = 30 * time.Minute
	keepLogs           = 64 << 20
	maxRestarts        = 3
	restartWindow      = 10 * time.Minute
	maxWait            = time.Minute // of a call for a worker that is starting
	keepDraining       = 30 * time.Minute
	drainPatience      = 2 * time.Minute // of a worker that does not say that it takes no more calls
)

// Service is what is served under one name: the present generation, and beside
// it the one that is being loaded.
type Service struct {
	Name    string
	manager *Manager
	Logs    *spool.Spool // what its workers have put out

	mu        sync.Mutex
	last      int // the generation given out last
	current   *generation
	loading   *generation
	recent    []*generation // for those who ask how a generation ended
	retiring  []*Worker     // of earlier generations, whose calls end
	draining  drainingCalls
	dead      *Worker    // that has died and is being replaced
	swap      sync.Mutex // held while one worker replaces another
	swapping  bool       // nobody is to be asked meanwhile
	tokens    tokenList
	recording time.Time // until then the journal is kept whole
	deleted   bool
	changed   chan struct{} // closed at every change
}

// generation is one loading of an interface. Its fields are guarded by
// Service.mu.
type generation struct {
	number     int
	spec       protocol.ServiceSpec
	state      protocol.ServiceState
	iface      *sdk.Interface
	err        *protocol.CallError
	restarts   int
	crashes    []time.Time
	started    time.Time
	worker     *Worker
	restarting bool
	inPlace    *protocol.InPlace
	died       string // how the last worker ended, for the next one
	ctx        context.Context
	cancel     context.CancelFunc
}

func (v *Service) notify() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// Serve begins to load a generation, with the next number unless it has one. One that
// was still loading is given up.
func (v *Service) Serve(spec protocol.ServiceSpec, number int) protocol.Service {
	v.mu.Lock()
	defer v.mu.Unlock()
	if number == 0 {
		number = v.last + 1
	}
	v.last = max(v.last, number)
	g := newGeneration(spec, number)
	if old := v.loading; old != nil {
		old.state = protocol.ServiceStopped
		old.cancel()
	}
	v.loading = g
	v.recent = append(v.recent, g)
	if n := len(v.recent); n > 8 {
		v.recent = v.recent[n-8:]
	}
	v.notify()
	if old := v.current; spec.InPlace && old != nil && old.state == protocol.ServiceReady && old.worker != nil {
		go v.reload(g, old, old.worker)
	} else {
		go v.bring(g)
	}
	return g.describe(v.Name)
}

func newGeneration(spec protocol.ServiceSpec, number int) *generation {
	g := &generation{number: number, spec: spec, state: protocol.ServiceLoading, started: time.Now()}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// bring loads a generation and puts it in the place of the present one.
func (v *Service) bring(g *generation) {
	w, iface, cerr := v.load(g)
	v.swap.Lock()
	defer v.swap.Unlock()
	defer v.swapped()
	left := v.lockDrained(g, cerr == nil)
	if v.loading != g {
		v.mu.Unlock()
		if left != nil {
			left.undrain()
		}
		if w != nil {
			w.kill()
		}
		return
	}
	v.loading = nil
	if cerr != nil {
		g.state, g.err = protocol.ServiceFailed, cerr
		v.notify()
		v.mu.Unlock()
		v.manager.deps.Persist()
		return
	}
	old := v.current
	v.current = g
	g.state, g.iface, g.worker = protocol.ServiceReady, iface, w
	if old != nil {
		v.dead = nil
		v.setAside(old)
	}
	v.mu.Unlock()
	v.manager.deps.Persist() // before it has calls: a runtime that did not know of it would end it, and ask the old one
	go v.watch(g, w)
}

// setAside lets a replaced generation end. v.mu is held.
func (v *Service) setAside(old *generation) {
	old.state, old.restarting = protocol.ServiceStopped, false
	old.cancel()
	if w := old.worker; w != nil {
		v.retiring = append(v.retiring, w)
		go v.retire(w)
	}
}

// retire waits until the calls of a worker have ended. Its journal answers
// clients that ask for one of them afterwards.
func (v *Service) retire(w *Worker) {
	w.retire()
	v.mu.Lock()
	v.retiring = slices.DeleteFunc(v.retiring, func(r *Worker) bool { return r == w })
	v.mu.Unlock()
	v.manager.deps.Persist()
	time.AfterFunc(keepDraining, func() { v.forget(w) })
}

// forget lets go of a worker that has been gone for long.
func (v *Service) forget(w *Worker) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.draining, func(_ string, of *Worker) bool { return of == w })
}

// load starts a worker and waits until it is ready. The worker is nil with an
// error.
func (v *Service) load(g *generation) (*Worker, *sdk.Interface, *protocol.CallError) {
	v.mu.Lock()
	number, spec, died := g.number, g.spec, g.died
	v.mu.Unlock()
	w, err := v.manager.startWorker(v, number, spec, died)
	if err != nil {
		return nil, nil, loadFailed("the worker could not be started: %v", err)
	}
	iface, cerr := w.await(g.ctx, g.patience())
	if cerr != nil {
		w.kill()
		return nil, nil, cerr
	}
	return w, iface, nil
}
