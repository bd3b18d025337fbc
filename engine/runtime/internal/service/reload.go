package service

import (
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// reload has the worker that runs take an edited file over. If it says that this is
// not safe, the file is loaded as ever.
func (v *Service) reload(g, old *generation, w *Worker) {
	reason := ""
	msg, err := w.reload(v, g)
	switch {
	case err != nil && g.ctx.Err() != nil:
		return // it was given up, and the worker does not have it
	case err != nil:
		reason = err.Error()
	case msg.Kind == "ready" && msg.Interface != nil:
		if v.keep(g, old, msg) {
			v.manager.deps.Persist()
		}
		return
	default:
		reason = msg.Reason
	}
	v.mu.Lock()
	g.inPlace = &protocol.InPlace{Reason: reason}
	v.mu.Unlock()
	v.bring(g)
}

// reload asks the worker, and waits for what it says. A worker takes over one edit at a time: each
// has an answer.
func (w *Worker) reload(v *Service, g *generation) (controlLine, error) {
	w.reloading.Lock()
	defer w.reloading.Unlock()
	if err := g.ctx.Err(); err != nil {
		return controlLine{}, err
	}
	path, err := w.write(g.number, g.spec)
	if err != nil {
		return controlLine{}, err
	}
	select {
	case <-w.loaded: // an answer that nobody waited for
	default:
	}
	if err := w.send(controlLine{Kind: "reload", Filename: g.spec.Filename, Path: path, Generation: g.number}, nil); err != nil {
		return controlLine{}, err
	}
	timer := time.NewTimer(g.patience())
	defer timer.Stop()
	select {
	case msg := <-w.loaded:
		return msg, nil
	case <-w.Exited:
		return controlLine{}, protocol.Errorf(protocol.Failed, "the worker %s", w.ending())
	case <-g.ctx.Done():
		return w.giveUp(g, g.ctx.Err())
	case <-timer.C:
		return w.giveUp(g, protocol.Errorf(protocol.Unavailable, "the worker has not answered in %v", g.patience()))
	}
}

// giveUpPatience is how long a worker may take to say what has become of an edit that is given up:
// it only finishes one that it has begun to take over.
const giveUpPatience = time.Minute

// giveUp takes an edit back that the worker has not taken over. If it has, the answer says so: what
// runs is what the service must be described by.
func (w *Worker) giveUp(g *generation, why error) (controlLine, error) {
	if err := w.send(controlLine{Kind: "unreload", Generation: g.number}, nil); err != nil {
		return controlLine{}, why
	}
	timer := time.NewTimer(giveUpPatience)
	defer timer.Stop()
	select {
	case msg := <-w.loaded:
		if msg.Kind == "ready" {
			return msg, nil
		}
	case <-w.Exited:
	case <-timer.C:
	}
	return controlLine{}, why
}

// keep makes a generation of the worker that has taken it over the present one.
func (v *Service) keep(g, old *generation, msg controlLine) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current != old || v.deleted {
		return false
	}
	// The old one goes on under the new one's number: a client that watches
	// its worker continues to do so.
	if v.loading == g {
		v.loading = nil
	}
	v.recent = slices.DeleteFunc(v.recent, func(r *generation) bool { return r == g })
	old.number, old.spec, old.iface, old.inPlace = g.number, g.spec, msg.Interface, &protocol.InPlace{Kept: true}
	v.notify()
	return true
}
