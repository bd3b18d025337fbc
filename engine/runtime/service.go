package runtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

const (
	defaultLoadTimeout = 30 * time.Minute
	keepLogs           = 64 << 20
	maxRestarts        = 3
	restartWindow      = 10 * time.Minute
	maxWait            = time.Minute // of a call for a worker that is starting
	keepLeaving        = 30 * time.Minute
)

// service is what is served under one name: the present generation, and beside
// it the one that is being loaded.
type service struct {
	name   string
	server *Server
	logs   *spool

	mu       sync.Mutex
	last     int // the generation given out last
	current  *generation
	loading  *generation
	recent   []*generation // for those who ask how a generation ended
	retiring []*worker     // of earlier generations, whose calls end
	leaving  map[string]*worker
	dead     *worker // that has died and is being replaced
	tokens   []protocol.Token
	deleted  bool
	changed  chan struct{} // closed at every change
}

// generation is one loading of an interface. Its fields are guarded by
// service.mu.
type generation struct {
	number     int
	spec       protocol.ServiceSpec
	state      protocol.ServiceState
	iface      *sdk.Interface
	err        *protocol.CallError
	restarts   int
	crashes    []time.Time
	started    time.Time
	worker     *worker
	restarting bool
	inPlace    *protocol.InPlace
	died       string // how the last worker ended, for the next one
	ctx        context.Context
	cancel     context.CancelFunc
}

func (v *service) notify() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// serve begins to load a generation, with the next number unless it has one. One that
// was still loading is given up.
func (v *service) serve(spec protocol.ServiceSpec, number int) protocol.Service {
	v.mu.Lock()
	defer v.mu.Unlock()
	if number == 0 {
		number = v.last + 1
	}
	v.last = max(v.last, number)
	g := v.newGeneration(spec, number)
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
	return v.describe(g)
}

func (v *service) newGeneration(spec protocol.ServiceSpec, number int) *generation {
	g := &generation{number: number, spec: spec, state: protocol.ServiceLoading, started: time.Now()}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// bring loads a generation and puts it in the place of the present one.
func (v *service) bring(g *generation) {
	w, iface, cerr := v.load(g)
	if list := v.workers(); cerr == nil && len(list) > 0 {
		v.remember(list[0]) // before anybody asks the new one
	}
	v.mu.Lock()
	if v.loading != g {
		v.mu.Unlock()
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
		v.server.persist()
		return
	}
	old := v.current
	v.current = g
	g.state, g.iface, g.worker = protocol.ServiceReady, iface, w
	if old != nil {
		v.dead = nil
		v.setAside(old)
	}
	v.notify()
	v.mu.Unlock()
	v.server.persist()
	go v.watch(g, w)
}

// setAside lets a replaced generation end. v.mu is held.
func (v *service) setAside(old *generation) {
	old.state, old.restarting = protocol.ServiceStopped, false
	old.cancel()
	if w := old.worker; w != nil {
		v.retiring = append(v.retiring, w)
		go v.retire(w)
	}
}

// retire waits until the calls of a worker have ended. Whoever asks for one of them
// afterwards is told by its journal.
func (v *service) retire(w *worker) {
	v.remember(w)
	w.retire()
	v.mu.Lock()
	v.retiring = slices.DeleteFunc(v.retiring, func(r *worker) bool { return r == w })
	v.mu.Unlock()
	v.server.persist()
	time.AfterFunc(keepLeaving, func() { v.forget(w) })
}

// forget lets go of a worker that has been gone for long.
func (v *service) forget(w *worker) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.leaving, func(_ string, of *worker) bool { return of == w })
}

// load starts a worker and waits until it is ready. The worker is nil with an
// error.
func (v *service) load(g *generation) (*worker, *sdk.Interface, *protocol.CallError) {
	v.mu.Lock()
	number, spec, died := g.number, g.spec, g.died
	v.mu.Unlock()
	w, err := v.server.startWorker(v, number, spec, died)
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

// patience is how long the loading may take.
func (g *generation) patience() time.Duration {
	if g.spec.LoadTimeoutSeconds > 0 {
		return seconds(g.spec.LoadTimeoutSeconds)
	}
	return defaultLoadTimeout
}

// watch starts a worker again that has died, a few times.
func (v *service) watch(g *generation, w *worker) {
	for w != nil {
		<-w.exited
		again := v.crashed(g, w)
		v.server.persist()
		if !again {
			return
		}
		if w = v.restart(g); w != nil {
			v.server.persist()
		}
	}
}

// crashed notes the death of a worker, and whether it is to be started again.
func (v *service) crashed(g *generation, w *worker) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current != g || v.deleted {
		return false
	}
	v.dead = w
	now := time.Now()
	g.crashes = slices.DeleteFunc(g.crashes, func(t time.Time) bool { return now.Sub(t) > restartWindow })
	g.crashes = append(g.crashes, now)
	g.state, g.worker = protocol.ServiceCrashed, nil
	g.err = &protocol.CallError{Code: protocol.CallInterrupted, Message: "the worker " + w.ending() + "; see the service's logs"}
	g.restarting = len(g.crashes) <= maxRestarts
	g.died = fmt.Sprintf("%s; the service was started again (try %d of %d)", w.ending(), len(g.crashes), maxRestarts)
	v.notify()
	return g.restarting
}

// restart tries until there is a worker or the tries are used up.
func (v *service) restart(g *generation) *worker {
	for {
		v.mu.Lock()
		tries := len(g.crashes)
		v.mu.Unlock()
		select {
		case <-time.After(50 * time.Millisecond << (2 * tries)):
		case <-g.ctx.Done():
			return nil
		}
		w, iface, cerr := v.load(g)
		v.mu.Lock()
		switch {
		case v.current != g || v.deleted:
			v.mu.Unlock()
			if w != nil {
				w.kill()
			}
			return nil
		case cerr == nil:
			g.state, g.iface, g.worker, g.err = protocol.ServiceReady, iface, w, nil
			v.dead = nil
			g.restarts++
			g.restarting = false
		default:
			g.crashes = append(g.crashes, time.Now())
			g.err = cerr
			g.restarting = len(g.crashes) <= maxRestarts
		}
		again := cerr != nil && g.restarting
		v.notify()
		v.mu.Unlock()
		if !again {
			return w
		}
	}
}

// await returns the worker to call, entered; the caller leaves it. It waits while
// one is starting.
func (v *service) await(ctx context.Context) (*worker, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		w, changed, err := v.ready()
		if w != nil || err != nil {
			return w, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, protocol.Errorf(protocol.Unavailable, "the service %s is still starting; call again later", v.name)
		}
	}
}

func (v *service) ready() (*worker, <-chan struct{}, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.shown(0)
	switch {
	case g == nil || v.deleted:
		return nil, nil, protocol.Errorf(protocol.NotFound, "there is no service %q", v.name)
	case g.state == protocol.ServiceReady && !g.worker.gone():
		g.worker.enter() // under the lock, so that a replaced worker gets no more calls
		return g.worker, nil, nil
	case g.state == protocol.ServiceFailed:
		return nil, nil, g.err
	case g.state == protocol.ServiceCrashed && !g.restarting:
		return nil, nil, protocol.Errorf(protocol.Unavailable,
			"the service %s has crashed %d times and is not started again (%v): serve it again", v.name, len(g.crashes), g.err)
	}
	return nil, v.changed, nil
}

// shown is the generation that speaks for the service, or a given one.
func (v *service) shown(number int) *generation {
	if number > 0 {
		for _, g := range append(slices.Clone(v.recent), v.current, v.loading) {
			if g != nil && g.number == number {
				return g
			}
		}
		return nil
	}
	switch {
	case v.current != nil:
		return v.current
	case v.loading != nil:
		return v.loading
	case len(v.recent) > 0:
		return v.recent[len(v.recent)-1]
	}
	return nil
}

func (v *service) describe(g *generation) protocol.Service {
	return protocol.Service{Name: v.name, Generation: g.number, State: g.state, Interface: g.iface,
		Error: g.err, Restarts: g.restarts, StartedUnix: g.started.Unix(), InPlace: g.inPlace}
}

// wait describes a generation once it is no longer loading and its code is not the
// given one, or when ctx ends.
func (v *service) wait(ctx context.Context, number int, unless string) (protocol.Service, error) {
	for {
		v.mu.Lock()
		g := v.shown(number)
		if g == nil {
			v.mu.Unlock()
			return protocol.Service{}, protocol.Errorf(protocol.NotFound, "the service %s has no generation %d", v.name, number)
		}
		d, changed := v.describe(g), v.changed
		v.mu.Unlock()
		same := unless != "" && (d.Interface == nil || d.Interface.CodeHash == unless)
		if d.State != protocol.ServiceLoading && !same {
			return d, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return d, nil
		}
	}
}

// workers are those that live now, the present one first.
func (v *service) workers() []*worker {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []*worker
	if v.current != nil && v.current.worker != nil {
		list = append(list, v.current.worker)
	}
	return append(list, v.retiring...)
}

func (v *service) isLoading() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.loading != nil
}

// abandon gives up one generation if it is still loading, and reports whether
// anything is left of the service.
func (v *service) abandon(number int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if g := v.loading; g != nil && g.number == number {
		v.loading, g.state = nil, protocol.ServiceStopped
		g.cancel()
		v.notify()
	}
	return v.current != nil || v.loading != nil
}

// remove ends the service at once.
func (v *service) remove() {
	v.mu.Lock()
	v.deleted = true
	ending := slices.Clone(v.retiring)
	for _, g := range []*generation{v.current, v.loading} {
		if g == nil {
			continue
		}
		g.cancel()
		g.state = protocol.ServiceStopped
		if g.worker != nil {
			ending = append(ending, g.worker)
		}
	}
	v.loading = nil
	v.notify()
	v.mu.Unlock()
	var wg sync.WaitGroup
	for _, w := range ending {
		wg.Go(w.kill)
	}
	wg.Wait()
	v.logs.close()
}
