package runtime

import "time"

// A call that two workers have could run in both. So before another worker takes the
// place of the present one, that one takes no more calls, and has written down those
// that it has; only then, and once the next runtime would know, is the new one asked.

// lockAlone waits until the worker of the present generation takes no more calls, if
// there is one and it is to leave, and returns it. v.mu is then held.
func (v *service) lockAlone(g *generation, leave bool) *worker {
	var left *worker
	for {
		v.mu.Lock()
		var w *worker
		if v.current != nil && v.current.worker != nil && !v.current.worker.gone() {
			w = v.current.worker
		}
		if !leave || w == nil || w == left || v.loading != g {
			return left
		}
		v.swapping = true
		v.mu.Unlock()
		left = w
		v.seeOut(g, w)
	}
}

// seeOut tells a worker to take no more calls until it says that it does not. One that
// says nothing for long is ended.
func (v *service) seeOut(g *generation, w *worker) {
	for began := time.Now(); !w.gone() && g.ctx.Err() == nil && !v.remember(g.ctx, w); {
		if time.Since(began) > leavePatience {
			w.kill()
			return
		}
		select {
		case <-g.ctx.Done():
		case <-w.exited:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// swapped lets those go on who wait for a worker.
func (v *service) swapped() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.swapping = false
	v.notify()
}

// stay takes back that the worker is to leave.
func (w *worker) stay() { _ = w.send(controlLine{Kind: "staying"}, nil) }
