package runtime

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

// journalOf is the folder of a service's journal. It outlives its workers, and the
// service.
func (s *Server) journalOf(service string) string {
	return filepath.Join(s.scratch, "journal", service)
}

// remains are what a worker that is gone has left of its calls.
type remains struct {
	folder *journal.Folder
	err    error
}

// remains reads the journal once, for all who ask about a worker that is gone.
func (w *worker) remains() *remains {
	w.remaining.Do(func() {
		f, err := journal.Read(w.journal)
		w.left = &remains{folder: f, err: err}
	})
	return w.left
}

// ran reports whether a call may have had effects, as far as the journal tells.
func (r *remains) ran(id string) bool {
	if r.err != nil {
		return true
	}
	e := r.folder.Get(id)
	return e != nil && e.State != protocol.CallQueued
}

// tell answers with what the journal has of a call. One that has no end gets the
// given one.
func (r *remains) tell(c *relay, end *protocol.CallError) error {
	var e *journal.Entry
	if r.err == nil {
		e = r.folder.Get(c.header.ID)
	}
	if e == nil || !c.who.Sees(e.Token) {
		return c.fail(&protocol.CallError{Code: protocol.CallUnknown, Message: fmt.Sprintf("no call %s is known here", c.header.ID)})
	}
	switch {
	case e.Acked, e.Ended != 0 && len(e.Events) == 0, e.Ended == 0 && e.State != protocol.CallQueued && e.State != protocol.CallRunning:
		return c.fail(&protocol.CallError{Code: protocol.CallUnknown, Message: fmt.Sprintf("the answer of the call %s is not kept any more", e.ID)})
	}
	for _, v := range e.Events {
		n := max(v.N, 1)
		if n < c.next {
			continue
		}
		if v.Missing {
			return c.fail(&protocol.CallError{Code: protocol.CallInterrupted,
				Message: "the call ended, but its answer was too large to be kept and is gone with its worker; it may have had effects and was not repeated"})
		}
		if last, err := r.event(c, v); last || err != nil {
			return err
		}
	}
	return c.fail(end)
}

func (r *remains) event(c *relay, v journal.Event) (bool, error) {
	body, err := r.folder.Open(v)
	if err != nil {
		return false, err
	}
	defer body.Close()
	h := v.FrameHeader
	h.Time = 0
	return c.pass(h, nil, v.Size, io.LimitReader(body, v.Size))
}

// noWorker answers for a service that has no worker and gets none soon: what its
// journal has of a call counts, and otherwise why there is no worker.
func (c *relay) noWorker(why error) error {
	folder, err := journal.Read(c.server.journalOf(c.name))
	left := &remains{folder: folder, err: err}
	if err != nil || folder.Get(c.header.ID) == nil {
		return why
	}
	return left.tell(c, &protocol.CallError{Code: protocol.CallInterrupted,
		Message: fmt.Sprintf("the service %s has no worker any more (%v); the call may have had effects and was not repeated", c.name, why)})
}

// interruption is what becomes of a call whose worker has died under it.
func (v *service) interruption(ctx context.Context, w *worker, fn string) *protocol.CallError {
	during := "during the call"
	if fn != "" {
		during += " of " + fn
	}
	return &protocol.CallError{Code: protocol.CallInterrupted,
		Message: fmt.Sprintf("the worker of the service %s %s %s; the call may have had effects and was not repeated; %s",
			v.name, w.ending(), during, v.recovery(ctx, w))}
}

// recovery says what becomes of a service whose worker has died.
func (v *service) recovery(ctx context.Context, w *worker) string {
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

// remember tells a worker to take no more calls, and asks which it has, for whoever asks
// for one of them later. It reports whether the worker has answered.
func (v *service) remember(ctx context.Context, w *worker) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	calls, err := w.bequeath(ctx)
	if err != nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range calls {
		if c.State == protocol.CallQueued || c.State == protocol.CallRunning {
			v.note(c.ID, w)
		}
	}
	return true
}

// bequeath has a worker write down the calls that wait in it, for the next worker must
// not begin them again, and take no more. It lists them once that is done: the connection
// on which it is asked comes after the order.
func (w *worker) bequeath(ctx context.Context) ([]protocol.Call, error) {
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

const maxLeaving = 20_000 // calls of replaced workers that are remembered

// note remembers a call of a worker that is to end. v.mu is held.
func (v *service) note(id string, w *worker) {
	if v.leaving == nil || len(v.leaving) >= maxLeaving {
		v.leaving = map[string]*worker{}
	}
	v.leaving[id] = w
}

// before is the worker of an earlier generation that has a call; nil = none.
func (v *service) before(id string) *worker {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.leaving[id]
}
