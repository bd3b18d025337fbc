// Package checkpoint has the machine stand still, so that its files or its memory can be saved.
package checkpoint

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/gpumemory"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/lease"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
)

// Deps is what it takes to have the machine stand still.
type Deps struct {
	Env       *environment.Env
	Lease     *lease.Lease
	Reporter  *lease.Reporter
	Forwarder *portforward.Forwarder
	GPUs      *gpumemory.Memory
	Listener  Listener
	Loader    *os.File        // its socket; nil = there is none
	Listen    string          // unix:/path, where the machine can be parked
	Over      <-chan struct{} // closed when the machine is to end
	Log       *slog.Logger

	LimitBody func(http.ResponseWriter) // for requests of somebody unknown
	Persist   func()                    // remembers what a later runtime needs
	Renew     func(r protocol.Renewal)  // makes this machine another one than that whose memory it has
	End       func(why string)          // ends the machine
}

// Listener receives clients.
type Listener interface {
	Serve(l net.Listener) // answers on another socket
	Close()               // lets go of the socket; connections stay
}

// Handler answers requests that have the machine stand still, to be saved.
type Handler struct {
	deps     Deps
	freezer  freezer
	prover   atomic.Pointer[standstill] // the last
	back     atomic.Pointer[gpusBack]   // of the last parking
	quiesced atomic.Bool
}

// New makes a handler for a machine that runs.
func New(d Deps) *Handler { return &Handler{deps: d} }

// Quiesced reports whether the machine stands still to be saved with its memory: no lease
// ends meanwhile.
func (c *Handler) Quiesced() bool { return c.quiesced.Load() }

// Frozen reports whether the machine stands still.
func (c *Handler) Frozen() bool { return c.freezer.frozen() }

// Write waits until files may change, and returns what to call afterwards.
func (c *Handler) Write(ctx context.Context) (leave func(), err error) {
	return c.freezer.write(ctx)
}

// Changing has a request that changes files wait while the machine is frozen.
func (c *Handler) Changing(h httpx.Handler) httpx.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := c.freezer.write(r.Context())
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	}
}
