package service

import "time"

// A call that two workers have could run in both. So before another worker takes the
// place of the present one, that one takes no more calls, and has written down those
// that it has; only then, and once the next runtime would know, is the new one asked.

// lockDrained waits until the worker of the present generation takes no more calls, if
// there is one and it is to leave, and returns it. v.mu is then held.
func (v *Service) lockDrained(g *generation, leave bool) *Worker {
	var left *Worker
	for {
		v.mu.Lock()
		var w *Worker
		if v.current != nil && v.current.worker != nil && !v.current.worker.Gone() {
			w = v.current.worker
		}
		if !leave || w == nil || w == left || v.loading != g {
			return left
		}
		v.swapping = true
		v.mu.Unlock()
		left = w
		v.drain(g, w)
	}
}

// drain tells a worker to take no more calls until it says that it does not. One that
// says nothing for long is ended.
func (v *Service) drain(g *generation, w *Worker) {
	for began := time.Now(); !w.Gone() && g.ctx.Err() == nil && !v.drainWorker(g.ctx, w); {
		if time.Since(began) > drainPatience {
			w.kill()
			return
		}
		select {
		case <-g.ctx.Done():
		case <-w.Exited:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// swapped lets those go on who wait for a worker.
func (v *Service) swapped() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.swapping = false
	v.notify()
}

// undrain takes back that the worker is to leave.
func (w *Worker) undrain() { _ = w.send(controlLine{Kind: "staying"}, nil) }
