package runtime

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// calledService is the service of a request about calls. One that has been deleted
// still has a journal, which only the admin may ask.
func (s *Server) calledService(r *http.Request) (*service, string, error) {
	name := r.PathValue("service")
	v, err := s.services.get(name)
	if err == nil {
		return v, name, nil
	}
	if !serviceName.MatchString(name) {
		return nil, name, err
	}
	if found, _ := journal.Segments(s.journalOf(name)); len(found) == 0 {
		return nil, name, err
	}
	return nil, name, nil
}

// getCall tells what has become of a call.
func (s *Server) getCall(w http.ResponseWriter, r *http.Request) error {
	v, name, err := s.calledService(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := checkCallID(id); err != nil {
		return err
	}
	from, err := httpx.QueryInt(r.URL.Query(), "from")
	if err != nil {
		return err
	}
	h := protocol.FrameHeader{Kind: protocol.FrameAttach, ID: id, Token: auth.CallerOf(r).Scope()}
	h.From, h.Ack = int(from), done(r)
	if v == nil {
		c := &relay{server: s, service: &service{name: name, changed: make(chan struct{}), deleted: true}, name: name, who: auth.CallerOf(r),
			header: h, named: true, since: time.Now(), next: max(h.From, 1)}
		return c.answer(w, r)
	}
	return s.newRelay(r, v, h).answer(w, r)
}

// getCalls lists calls: those that the workers know, or the journal where there is no
// worker.
func (s *Server) getCalls(w http.ResponseWriter, r *http.Request) error {
	v, name, err := s.calledService(r)
	if err != nil {
		return err
	}
	who, id := auth.CallerOf(r), r.URL.Query().Get("id")
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	list := []protocol.Call{}
	seen := map[string]bool{}
	asked := false
	if v != nil {
		// A worker that is to end has what it runs; the others know of it as interrupted.
		workers := v.workers()
		for i := range workers {
			wk := workers[len(workers)-1-i]
			calls, err := wk.list(ctx, who.Scope(), id)
			if err != nil {
				continue
			}
			asked = asked || i == len(workers)-1
			for _, c := range calls {
				if !seen[c.ID] {
					seen[c.ID] = true
					list = append(list, c)
				}
			}
		}
	}
	if !asked {
		if list, err = s.journaled(name, who, id); err != nil {
			return err
		}
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"calls": list})
}

// journaled lists the calls of a service without a worker.
func (s *Server) journaled(name string, who auth.Caller, id string) ([]protocol.Call, error) {
	folder, err := journal.Read(s.journalOf(name))
	if err != nil {
		return nil, err
	}
	list := []protocol.Call{}
	for _, e := range folder.All() {
		if (id != "" && e.ID != id) || !who.Sees(e.Token) {
			continue
		}
		c := e.Call
		if c.State == protocol.CallRunning {
			c.State = protocol.CallWasCut
		}
		list = append(list, c)
	}
	return list, nil
}

// deleteCall cancels a call, or gives its answer up.
func (s *Server) deleteCall(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := checkCallID(id); err != nil {
		return err
	}
	s.arguments.drop(argumentsKey(v.name, auth.CallerOf(r).Owner(), id))
	wk := v.before(id)
	if wk == nil || wk.gone() {
		if wk, err = v.await(r.Context()); err != nil {
			return err
		}
		defer wk.leave()
	}
	if err := wk.cancel(r.Context(), auth.CallerOf(r).Scope(), id); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}

// cancel ends a call, and lets the worker forget its answer.
func (w *worker) cancel(ctx context.Context, token, id string) error {
	calls, err := w.list(ctx, token, id)
	if err != nil {
		return protocol.Errorf(protocol.Unavailable, "the worker does not answer: %v", err)
	}
	cancel := protocol.FrameHeader{Kind: protocol.FrameCancel, ID: id, Token: token}
	ack := protocol.FrameHeader{Kind: protocol.FrameAck, ID: id, Token: token}
	switch {
	case len(calls) == 0:
		err = &protocol.CallError{Code: protocol.CallUnknown, Message: "no call " + id + " is known here"}
	case calls[0].State == protocol.CallQueued || calls[0].State == protocol.CallRunning:
		err = w.tell(cancel)
	default:
		err = w.tell(ack)
	}
	if err != nil && !errors.As(err, new(*protocol.CallError)) {
		return protocol.Errorf(protocol.Unavailable, "the worker does not answer: %v", err)
	}
	return err
}
