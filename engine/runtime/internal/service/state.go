package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// AwaitWorker returns the worker to call, entered; the caller leaves it. It waits while
// one is starting.
func (v *Service) AwaitWorker(ctx context.Context) (*Worker, error) {
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
			return nil, protocol.Errorf(protocol.Unavailable, "the service %s is still starting; call again later", v.Name)
		}
	}
}

func (v *Service) ready() (*Worker, <-chan struct{}, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.shown(0)
	switch {
	case g == nil || v.deleted:
		return nil, nil, protocol.Errorf(protocol.NotFound, "there is no service %q", v.Name)
	case v.swapping:
		return nil, v.changed, nil
	case g.state == protocol.ServiceReady && !g.worker.Gone():
		g.worker.Enter() // under the lock, so that a replaced worker gets no more calls
		return g.worker, nil, nil
	case g.state == protocol.ServiceFailed:
		return nil, nil, g.err
	case g.state == protocol.ServiceCrashed && !g.restarting:
		// Not unavailable: nobody has to try for minutes.
		return nil, nil, loadFailed("the service %s has crashed %d times and is not started again (%v): serve it again", v.Name, len(g.crashes), g.err)
	}
	return nil, v.changed, nil
}

// shown is the generation that speaks for the service, or a given one.
func (v *Service) shown(number int) *generation {
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

// describe is the generation as clients see it.
func (g *generation) describe(service string) protocol.Service {
	return protocol.Service{Name: service, Generation: g.number, State: g.state, Interface: g.iface,
		Error: g.err, Restarts: g.restarts, StartedUnix: g.started.Unix(), InPlace: g.inPlace}
}

// Describe describes the service as it is now; false where there is nothing to describe.
func (v *Service) Describe() (protocol.Service, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.shown(0)
	if g == nil {
		return protocol.Service{}, false
	}
	return g.describe(v.Name), true
}

// Wait describes a generation once it is no longer loading and its code is not the
// given one, or when ctx ends.
func (v *Service) Wait(ctx context.Context, number int, unless string) (protocol.Service, error) {
	for {
		v.mu.Lock()
		g := v.shown(number)
		if g == nil {
			v.mu.Unlock()
			return protocol.Service{}, protocol.Errorf(protocol.NotFound, "the service %s has no generation %d", v.Name, number)
		}
		d, changed := g.describe(v.Name), v.changed
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

// Workers are those that live now, the present one first.
func (v *Service) Workers() []*Worker {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []*Worker
	if v.current != nil && v.current.worker != nil {
		list = append(list, v.current.worker)
	}
	return append(list, v.retiring...)
}

func (v *Service) isLoading() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.loading != nil
}

// Abandon gives up one generation if it is still loading, and reports whether
// anything is left of the service.
func (v *Service) Abandon(number int) bool {
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
func (v *Service) remove() {
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
	v.Logs.Close()
}

// DeadWorker is a worker that has died and is being replaced; nil = none.
func (v *Service) DeadWorker() *Worker {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dead
}

// Record has the workers keep the whole journal for a while from now, as with record in the spec.
func Record(v *Service, d time.Duration) {
	v.mu.Lock()
	v.recording = time.Now().Add(d)
	v.mu.Unlock()
	for _, w := range v.Workers() {
		_ = w.send(controlLine{Kind: "record", Seconds: d.Seconds()}, nil) // said again by the next request
	}
}

// Drained tells the workers that a segment of the journal, and all before it, have been read.
func (v *Service) Drained(segment int) {
	for _, w := range v.Workers() {
		_ = w.send(controlLine{Kind: "drained", Segment: segment}, nil) // said again by the next request
	}
}
