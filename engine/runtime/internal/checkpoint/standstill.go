package checkpoint

import (
	"context"
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

// standstill is a time in which nothing of the machine moves but the runtime and the loader,
// so that the runtime can prove that a socket which it makes then is its own.
type standstill struct {
	c         *Handler
	id, key   string // of the parking
	dir, name string // of the socket
	stopped   []int

	held   atomic.Bool
	socket atomic.Value  // net.Listener: the socket that was made meanwhile
	proven chan struct{} // closed when it was asked for the proof
	once   sync.Once
}

func newStandstill(c *Handler, id, key, socket string) *standstill {
	return &standstill{c: c, id: id, key: key, dir: filepath.Dir(socket), name: filepath.Base(socket), proven: make(chan struct{})}
}

// begin stops every process, and has the loader hold every thread: a signal, which a timer
// may send, continues what is only stopped. [standstill.end] is due also after an error.
func (h *standstill) begin() (answer protocol.Frozen, err error) {
	if h.stopped, answer, err = h.c.stopAll(); err != nil {
		return answer, err
	}
	if n := answer.NotFrozen; len(n) > 0 {
		return answer, protocol.Errorf(protocol.Conflict, "process %d (%s) does not stand still: %s; end it", n[0].Pid, n[0].Name, n[0].Why)
	}
	if err := loaderconn.Ask(h.c.deps.Loader, map[string]any{"t": "hold"}, nil); err != nil {
		return answer, protocol.Errorf(protocol.Conflict, "the machine does not stand still: %v; end that process", err)
	}
	h.held.Store(true)
	return answer, nil
}

func (h *standstill) end() {
	h.held.Store(false)
	err := h.c.deps.Reporter.Reset(func() error { return loaderconn.Ask(h.c.deps.Loader, map[string]any{"t": "release"}, nil) })
	if err != nil {
		h.c.deps.Log.Error("processes of the machine are still held", "error", err)
	}
	proc.Continue(h.stopped)
}

// listen makes the machine's socket anew. The loader hears what is said of it.
func (h *standstill) listen(said map[string]any) error {
	l, err := unixsocket.Listen(h.dir, h.name)
	if err != nil {
		return err
	}
	if err := loaderconn.Ask(h.c.deps.Loader, said, l); err != nil {
		l.Close()
		return err
	}
	h.socket.Store(net.Listener(l))
	h.c.prover.Store(h)
	h.c.deps.Listener.Serve(l)
	return nil
}

// proofPatience is how long the machine stands still until it is asked for the proof.
const proofPatience = 30 * time.Second

// awaitProof returns when it was asked.
func (h *standstill) awaitProof() {
	limit := time.NewTimer(proofPatience)
	defer limit.Stop()
	select {
	case <-h.proven:
	case <-limit.C:
		h.c.deps.Log.Warn("no client asked the runtime to prove itself; the machine continues")
	case <-h.c.deps.Over:
	}
}

// proves reports whether a request has come straight from outside: while nothing could be in
// between, on a socket that was made after everything stood still.
func (h *standstill) proves(r *http.Request) bool {
	l, _ := r.Context().Value(acceptedBy{}).(net.Listener)
	return l != nil && h.held.Load() && h.socket.Load() == l
}

// acceptedBy is the key of the listener in the context of a request.
type acceptedBy struct{}

// WithListener is the context of a server: it tells [Handler.PostProof] by which socket a request
// has come.
func WithListener(l net.Listener) context.Context {
	return context.WithValue(context.Background(), acceptedBy{}, l)
}

// PostProof proves that this is the runtime that was parked. Where it cannot, the machine
// stands still once more: the client finds another socket, and asks there.
func (c *Handler) PostProof(w http.ResponseWriter, r *http.Request) error {
	c.deps.LimitBody(w)
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	w.Header().Set("Connection", "close")
	var q parking.Question
	if err := httpx.ReadJSON(r, &q); err != nil {
		return err
	}
	h := c.prover.Load()
	if h == nil || !parking.Asked(h.key, h.id, q) {
		return protocol.Errorf(protocol.Unauthorized, "the question is not from the client that parked the machine")
	}
	if !h.proves(r) {
		go c.repeatStandstill(h)
		return protocol.Errorf(protocol.Conflict, "something moves in the machine; ask again on the socket that it makes now")
	}
	err := httpx.WriteJSON(w, http.StatusOK, parking.Answer(h.key, h.id, q))
	_ = http.NewResponseController(w).Flush()
	h.once.Do(func() { close(h.proven) })
	return err
}

// repeatStandstill has the machine stand still until its new socket is known. Its lease runs.
func (c *Handler) repeatStandstill(before *standstill) {
	ctx, cancel := context.WithTimeout(context.Background(), proofPatience)
	defer cancel()
	if _, err := c.freezer.begin(ctx); err != nil {
		return // it stands still already, or files are written: the client asks again
	}
	c.deps.Persist() // a runtime that comes after this one has to know
	h := newStandstill(c, before.id, before.key, filepath.Join(before.dir, before.name))
	defer func() {
		c.freezer.end()
		h.end()
		c.freezer.release()
		c.deps.Persist()
	}()
	_, err := h.begin()
	if err == nil {
		c.deps.Listener.Close()
		err = h.listen(map[string]any{"t": "listen"})
	}
	if err != nil {
		c.deps.Log.Error("the runtime cannot prove itself", "error", err)
		return
	}
	h.awaitProof()
}
