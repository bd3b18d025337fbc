package service

import (
	"fmt"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// patience is how long the loading may take.
func (g *generation) patience() time.Duration {
	if g.spec.LoadTimeoutSeconds > 0 {
		return httpx.Seconds(g.spec.LoadTimeoutSeconds)
	}
	return defaultLoadTimeout
}

// watch starts a worker again that has died, a few times.
func (v *Service) watch(g *generation, w *Worker) {
	for w != nil {
		<-w.Exited
		again := v.crashed(g, w)
		v.manager.deps.Persist()
		if !again {
			return
		}
		if w = v.restart(g); w != nil {
			v.manager.deps.Persist()
		}
	}
}

// crashed notes the death of a worker, and whether it is to be started again.
func (v *Service) crashed(g *generation, w *Worker) bool {
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
	g.died = w.ending() + "; the service was started again " + whichTry(len(g.crashes))
	v.notify()
	return g.restarting
}

// whichTry says what it means to those who wait that a worker is started again.
func whichTry(n int) string {
	return fmt.Sprintf("(try %d of %d; its models are loaded again)", n, maxRestarts)
}

// restart tries until there is a worker or the tries are used up.
func (v *Service) restart(g *generation) *Worker {
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
