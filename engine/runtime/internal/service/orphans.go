package service

import (
	"context"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

// OrphanedCalls are what a worker that is gone has left of its calls.
type OrphanedCalls struct {
	Folder *journal.Folder
	Err    error
}

// OrphanedCalls reads the journal once, for all who ask about a worker that is gone.
func (w *Worker) OrphanedCalls() *OrphanedCalls {
	w.readOrphaned.Do(func() {
		f, err := journal.Read(w.journal)
		w.orphaned = &OrphanedCalls{Folder: f, Err: err}
	})
	return w.orphaned
}

// Ran reports whether a call may have had effects, as far as the journal tells.
func (r *OrphanedCalls) Ran(id string) bool {
	if r.Err != nil {
		return true
	}
	e := r.Folder.Get(id)
	return e != nil && e.State != protocol.CallQueued
}

// Interruption is what becomes of a call whose worker has died under it.
func (v *Service) Interruption(ctx context.Context, w *Worker, fn string) *protocol.CallError {
	during := "during the call"
	if fn != "" {
		during += " of " + fn
	}
	return &protocol.CallError{Code: protocol.CallInterrupted,
		Message: fmt.Sprintf("the worker of the service %s %s %s; the call may have had effects and was not repeated; %s",
			v.Name, w.ending(), during, v.recovery(ctx, w))}
}

// recovery says what becomes of a service whose worker has died.
func (v *Service) recovery(ctx context.Context, w *Worker) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		v.mu.Lock()
		g, changed := v.current, v.changed
		switch {
		case v.deleted || g == nil:
			v.mu.Unlock()
			return "the service is gone"
		case g.worker != w && g.state == protocol.ServiceCrashed && g.restarting:
			text := "the service is being started again " + whichTry(len(g.crashes))
			v.mu.Unlock()
			return text
		case g.worker != w && g.state == protocol.ServiceCrashed:
			v.mu.Unlock()
			return "it has died too often to be started again: serve it again"
		case g.worker != w:
			v.mu.Unlock()
			return "the service has been started again"
		}
		v.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return "see the service's logs"
		}
	}
}

// drainWorker tells a worker to take no more calls, and asks which it has, so that
// clients can ask for them later. It reports whether the worker has answered.
func (v *Service) drainWorker(ctx context.Context, w *Worker) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	calls, err := w.handOff(ctx)
	if err != nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range calls {
		if c.State == protocol.CallQueued || c.State == protocol.CallRunning {
			v.draining = v.draining.with(c.ID, w)
		}
	}
	return true
}

// handOff has a worker write down the calls that wait in it, for the next worker must
// not begin them again, and take no more. It lists them once that is done: the connection
// on which it is asked comes after the order.
func (w *Worker) handOff(ctx context.Context) ([]protocol.Call, error) {
	if err := w.send(controlLine{Kind: "leaving"}, nil); err != nil {
		return nil, err
	}
	near, far, err := unixsocket.Pair()
	if err != nil {
		return nil, err
	}
	defer near.Close()
	defer far.Close()
	if err := w.send(controlLine{Kind: "conn", Runtime: true}, far); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { near.Close() })
	defer stop()
	return askCalls(near, "", "")
}

const maxDraining = 20_000 // calls of replaced workers that are remembered

// drainingCalls are the calls that workers of earlier generations had, by their ids.
type drainingCalls map[string]*Worker

// with remembers one more call. Of too many, all before it are forgotten.
func (d drainingCalls) with(id string, w *Worker) drainingCalls {
	if d == nil || len(d) >= maxDraining {
		d = drainingCalls{}
	}
	d[id] = w
	return d
}

// EarlierWorker is the worker of an earlier generation that has a call; nil = none.
func (v *Service) EarlierWorker(id string) *Worker {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.draining[id]
}
