// Package callproxy carries calls from HTTP requests to workers, and what becomes of them back.
package callproxy

import (
	"context"
	"net/http"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
)

// Handler answers requests about calls.
type Handler struct {
	services  *service.Manager
	dir       string // for arguments
	arguments arguments
}

// New makes a handler that keeps arguments in files of a folder.
func New(s *service.Manager, dir string) *Handler {
	return &Handler{services: s, dir: dir, arguments: arguments{quota: quota{most: defaultArgumentBytes()}}}
}

// DropService forgets the arguments that were sent for a service.
func (h *Handler) DropService(name string) { h.arguments.dropOwner(name + "\x00") }

// DropToken forgets the arguments that a token of a service has sent.
func (h *Handler) DropToken(service, token string) {
	h.arguments.dropOwner(argumentsOwner(service, token))
}

// Tidy forgets arguments that nobody has sent more of, or used, for long.
func (h *Handler) Tidy(now time.Time) { h.arguments.tidy(now) }

// Close forgets all arguments.
func (h *Handler) Close() { h.arguments.close() }

// GetCall tells what has become of a call.
func (h *Handler) GetCall(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("service")
	v, err := h.services.WithJournal(name)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := checkCallID(id); err != nil {
		return err
	}
	q := httpx.QueryOf(r)
	from := q.Int("from")
	if err := q.Err(); err != nil {
		return err
	}
	attach := protocol.FrameHeader{Kind: protocol.FrameAttach, ID: id, Token: auth.CallerOf(r).Scope()}
	attach.From, attach.Ack = int(from), done(r)
	if v == nil {
		v = h.services.Deleted(name)
	}
	return h.newRelay(r, v, attach).answer(w, r)
}

// GetCalls lists calls: those that the workers know, or the journal where there is no
// worker.
func (h *Handler) GetCalls(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("service")
	v, err := h.services.WithJournal(name)
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
		workers := v.Workers()
		for i := range workers {
			wk := workers[len(workers)-1-i]
			calls, err := wk.List(ctx, who.Scope(), id)
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
		if list, err = h.journaled(name, who, id); err != nil {
			return err
		}
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"calls": list})
}

// journaled lists the calls of a service without a worker.
func (h *Handler) journaled(name string, who auth.Caller, id string) ([]protocol.Call, error) {
	folder, err := journal.Read(h.services.Journal(name))
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

// DeleteCall cancels a call, or gives its answer up.
func (h *Handler) DeleteCall(w http.ResponseWriter, r *http.Request) error {
	v, err := h.services.Get(r.PathValue("service"))
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := checkCallID(id); err != nil {
		return err
	}
	h.arguments.drop(argumentsKey(v.Name, auth.CallerOf(r).Owner(), id))
	wk := v.EarlierWorker(id)
	if wk == nil || wk.Gone() {
		if wk, err = v.AwaitWorker(r.Context()); err != nil {
			return err
		}
		defer wk.Leave()
	}
	if err := wk.Cancel(r.Context(), auth.CallerOf(r).Scope(), id); err != nil {
		return err
	}
	return httpx.WriteDone(w)
}
