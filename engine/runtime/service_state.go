package runtime

import (
	"context"
	"slices"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
)

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
	case v.swapping:
		return nil, v.changed, nil
	case g.state == protocol.ServiceReady && !g.worker.gone():
		g.worker.enter() // under the lock, so that a replaced worker gets no more calls
		return g.worker, nil, nil
	case g.state == protocol.ServiceFailed:
		return nil, nil, g.err
	case g.state == protocol.ServiceCrashed && !g.restarting:
		// Not unavailable: nobody has to try for minutes.
		return nil, nil, loadFailed("the service %s has crashed %d times and is not started again (%v): serve it again", v.name, len(g.crashes), g.err)
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
	v.logs.Close()
}
