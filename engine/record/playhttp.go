package record

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// Serve answers on l, as a runtime does, whoever has the token, until ctx ends. It
// has the part of the protocol that clients of services use.
func (p *Player) Serve(ctx context.Context, l net.Listener, token string) error {
	h := &playHandler{player: p, token: []byte(token)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/services/{service}", h.describe)
	mux.HandleFunc("GET /v1/services/{service}/connect", h.connect)
	mux.HandleFunc("GET /v1/services/{service}/calls", h.calls)
	mux.HandleFunc("GET /v1/services/{service}/calls/{id}", h.callAgain)
	mux.HandleFunc("DELETE /v1/services/{service}/calls/{id}", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, struct{}{}) })
	mux.HandleFunc("POST /v1/services/{service}/call/{function}", h.call)
	srv := &http.Server{Handler: h.guard(mux), ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() {
		_ = srv.Close()
		h.closeAll()
	})
	defer stop()
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

type playHandler struct {
	player *Player
	token  []byte
	mu     sync.Mutex
	over   bool
	conns  map[net.Conn]bool // that have left HTTP
}

func (h *playHandler) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for c := range h.conns {
		c.Close()
	}
}

func (h *playHandler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Seer", "1")
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(given), h.token) != 1 {
			fail(w, protocol.Errorf(protocol.Unauthorized, "this is not the token of the replayed services"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// service answers for a service that the record lacks.
func (h *playHandler) service(w http.ResponseWriter, r *http.Request) *played {
	name := r.PathValue("service")
	s := h.player.services[name]
	if s == nil {
		fail(w, protocol.Errorf(protocol.NotFound, "the record has no service %q", name))
	}
	return s
}

func (h *playHandler) describe(w http.ResponseWriter, r *http.Request) {
	s := h.service(w, r)
	if s == nil {
		return
	}
	if wait := waitOf(r); wait > 0 && r.URL.Query().Get("unless") == s.face.CodeHash {
		select { // it never changes
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	}
	writeJSON(w, http.StatusOK, protocol.Service{Name: r.PathValue("service"), Generation: 1, State: protocol.ServiceReady, Interface: &s.face})
}

func waitOf(r *http.Request) time.Duration {
	n, err := strconv.ParseFloat(r.URL.Query().Get("wait"), 64)
	if err != nil || n < 0 || n > 600 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

func (h *playHandler) calls(w http.ResponseWriter, r *http.Request) {
	s := h.service(w, r)
	if s == nil {
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"calls": s.list(r.URL.Query().Get("id"))})
}

// list are the calls that have been answered; with an id only that one.
func (s *played) list(id string) []protocol.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []protocol.Call{}
	for name, e := range s.ids {
		if id == "" || id == name {
			list = append(list, protocol.Call{ID: name, Function: e.Function, State: e.State, QueuedUnix: e.Queued, Started: e.Started, Ended: e.Ended, Seconds: e.Seconds, Error: e.Error})
		}
	}
	return list
}

func (h *playHandler) callAgain(w http.ResponseWriter, r *http.Request) {
	s := h.service(w, r)
	if s == nil {
		return
	}
	id := r.PathValue("id")
	s.mu.Lock()
	e := s.ids[id]
	s.mu.Unlock()
	if e == nil {
		fail(w, unknown(id))
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	h.send(w, r, id, e, protocol.CallOptions{From: from, Output: true})
}

func unknown(id string) *protocol.CallError {
	return &protocol.CallError{Code: protocol.CallUnknown, Message: "there is no call " + strconv.Quote(id)}
}

func (h *playHandler) call(w http.ResponseWriter, r *http.Request) {
	s := h.service(w, r)
	if s == nil {
		return
	}
	var options protocol.CallOptions
	if text := r.Header.Get("Seer-Call-Options"); text != "" {
		if err := json.Unmarshal([]byte(text), &options); err != nil {
			fail(w, protocol.Errorf(protocol.Invalid, "Seer-Call-Options is not a JSON object of options: %v", err))
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		fail(w, protocol.Errorf(protocol.Invalid, "the arguments did not arrive whole: %v", err))
		return
	}
	v, err := arguments(body, options.Tagged)
	if err != nil {
		fail(w, protocol.Errorf(protocol.Invalid, "the arguments cannot be read: %v", err))
		return
	}
	id := r.Header.Get("Seer-Call-Id")
	e, cerr := s.answer(id, r.PathValue("function"), v)
	if cerr != nil {
		e = &Entry{State: protocol.CallFailed, Error: cerr}
	}
	h.send(w, r, id, e, options)
}

func (h *playHandler) send(w http.ResponseWriter, r *http.Request, id string, e *Entry, o protocol.CallOptions) {
	events, err := h.player.events(id, e, o.Output)
	if err != nil {
		fail(w, err)
		return
	}
	if r.Header.Get("Accept") == value.MediaTypeFrames {
		w.Header().Set("Content-Type", value.MediaTypeFrames)
		_ = h.player.writeAll(w, events, o.From) // a client that is gone asks again
		return
	}
	last := events[len(events)-1]
	if last.header.Error != nil {
		fail(w, last.header.Error)
		return
	}
	v, err := h.player.folder.Body(last.body)
	if err != nil {
		fail(w, err)
		return
	}
	plain, err := v.Plain(value.PlainOptions{})
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"result": plain, "tagged": false})
}

func (p *Player) writeAll(w io.Writer, events []event, from int) error {
	for _, ev := range events {
		if ev.header.N < from {
			continue
		}
		if err := p.write(w, ev); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone
}

func fail(w http.ResponseWriter, err error) {
	var call *protocol.CallError
	if errors.As(err, &call) {
		writeJSON(w, protocol.Failed.Status(), map[string]any{"error": call})
		return
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = protocol.Errorf(protocol.Internal, "%v", err)
	}
	writeJSON(w, e.Code.Status(), map[string]any{"error": e})
}
