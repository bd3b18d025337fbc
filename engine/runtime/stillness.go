package runtime

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/loaderconn"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

// stillness is a time in which nothing of the machine moves but the runtime and the loader,
// so that the runtime can prove that a socket which it makes then is its own.
type stillness struct {
	s         *Server
	id, key   string // of the parking
	dir, name string // of the socket
	stopped   []int

	holds  atomic.Bool
	mine   atomic.Value  // net.Listener: the socket that was made meanwhile
	proven chan struct{} // closed when it was asked for the proof
	once   sync.Once
}

func newStillness(s *Server, id, key, socket string) *stillness {
	return &stillness{s: s, id: id, key: key, dir: filepath.Dir(socket), name: filepath.Base(socket), proven: make(chan struct{})}
}

// begin stops every process, and has the loader hold every thread: a signal, which a timer
// may send, continues what is only stopped. [stillness.end] is due also after an error.
func (h *stillness) begin() (answer protocol.Frozen, err error) {
	if h.stopped, answer, err = h.s.stopAll(); err != nil {
		return answer, err
	}
	if n := answer.NotFrozen; len(n) > 0 {
		return answer, protocol.Errorf(protocol.Conflict, "process %d (%s) does not stand still: %s; end it", n[0].Pid, n[0].Name, n[0].Why)
	}
	if err := loaderconn.Ask(h.s.options.Loader, []byte(`{"t":"hold"}`), nil); err != nil {
		return answer, protocol.Errorf(protocol.Conflict, "the machine does not stand still: %v; end that process", err)
	}
	h.holds.Store(true)
	return answer, nil
}

func (h *stillness) end() {
	h.holds.Store(false)
	err := h.s.reporter.Reset(func() error { return loaderconn.Ask(h.s.options.Loader, []byte(`{"t":"release"}`), nil) })
	if err != nil {
		h.s.options.Logger.Error("processes of the machine are still held", "error", err)
	}
	proc.Continue(h.stopped)
}

// listen makes the machine's socket anew. The loader hears what is said of it.
func (h *stillness) listen(said map[string]any) error {
	message, err := json.Marshal(said)
	if err != nil {
		return err
	}
	l, err := unixsocket.Listen(h.dir, h.name)
	if err != nil {
		return err
	}
	if err := loaderconn.Ask(h.s.options.Loader, message, l); err != nil {
		l.Close()
		return err
	}
	h.mine.Store(net.Listener(l))
	h.s.prover.Store(h)
	h.s.door.serve(l)
	return nil
}

// proofPatience is how long the machine stands still until it is asked for the proof.
const proofPatience = 30 * time.Second

// await returns when it was asked.
func (h *stillness) await() {
	limit := time.NewTimer(proofPatience)
	defer limit.Stop()
	select {
	case <-h.proven:
	case <-limit.C:
		h.s.options.Logger.Warn("nobody asked the runtime to prove itself; the machine goes on")
	case <-h.s.over:
	}
}

// proves reports whether a request has come straight from outside: while nothing could be in
// between, on a socket that was made after everything stood still.
func (h *stillness) proves(r *http.Request) bool {
	l, _ := r.Context().Value(acceptedBy{}).(net.Listener)
	return l != nil && h.holds.Load() && h.mine.Load() == l
}

// acceptedBy is the key of the listener in the context of a request.
type acceptedBy struct{}

func withListener(l net.Listener) context.Context {
	return context.WithValue(context.Background(), acceptedBy{}, l)
}

// postProof proves that this is the runtime that was parked. Where it cannot, the machine
// stands still once more: whoever asks finds another socket, and asks there.
func (s *Server) postProof(w http.ResponseWriter, r *http.Request) error {
	s.guard.LimitBody(w)
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	w.Header().Set("Connection", "close")
	var q parking.Question
	if err := httpx.ReadJSON(r, &q); err != nil {
		return err
	}
	h := s.prover.Load()
	if h == nil || !parking.Asked(h.key, h.id, q) {
		return protocol.Errorf(protocol.Unauthorized, "this question is not of whoever parked the machine")
	}
	if !h.proves(r) {
		go s.standStillAgain(h)
		return protocol.Errorf(protocol.Conflict, "something moves in the machine; ask again on the socket that it makes now")
	}
	err := httpx.WriteJSON(w, http.StatusOK, parking.Answer(h.key, h.id, q))
	_ = http.NewResponseController(w).Flush()
	h.once.Do(func() { close(h.proven) })
	return err
}

// standStillAgain has the machine stand still until its new socket is known. Its lease runs.
func (s *Server) standStillAgain(before *stillness) {
	ctx, cancel := context.WithTimeout(context.Background(), proofPatience)
	defer cancel()
	if _, err := s.freezer.begin(ctx); err != nil {
		return // it stands still already, or files are written: whoever asks does so again
	}
	s.persist() // a runtime that comes after this one has to know
	h := newStillness(s, before.id, before.key, filepath.Join(before.dir, before.name))
	defer func() {
		s.freezer.end()
		h.end()
		s.freezer.release()
		s.persist()
	}()
	_, err := h.begin()
	if err == nil {
		s.door.close()
		err = h.listen(map[string]any{"t": "listen"})
	}
	if err != nil {
		s.options.Logger.Error("the runtime cannot prove itself", "error", err)
		return
	}
	h.await()
}
