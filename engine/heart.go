package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/machine"
)

// heart gives the signs of life of an attached lease, and takes those of the machine.
type heart struct {
	s     *Sandbox
	rec   machine.Record
	ttl   time.Duration // that a sign lasts
	idle  time.Duration
	pause time.Duration // between two
	heard time.Time     // when the machine last took one
}

// pulse gives one sign. It is false when the machine is known to be lost. A missed beat
// is made up by the next; the lease outlives three.
func (h *heart) pulse(ctx context.Context) bool {
	log := h.s.engine.log.With("sandbox", h.s.id)
	switch rec, err := h.s.engine.ledger.Heartbeat(ctx, h.s.id); {
	case err == nil:
		h.rec = rec
	case ctx.Err() == nil:
		log.Warn("the ledger takes no heartbeat", "error", err)
	}
	if !h.s.booted.Load() {
		return true
	}
	sent := time.Now()
	short, cancel := context.WithTimeout(ctx, 2*h.pause) // behind an upload it may take long
	defer cancel()
	err := h.s.putLease(short, h.rec, machine.Attached, h.ttl, h.idle)
	if err == nil {
		h.heard = sent
		return true
	}
	if ctx.Err() != nil {
		return true
	}
	log.Warn("the machine takes no heartbeat", "error", err)
	if err := h.missed(ctx); err != nil {
		h.s.loss = err
		close(h.s.lost)
		return false
	}
	return true
}

// missed says why a machine that took no heartbeat is lost; nil while it may come back.
func (h *heart) missed(ctx context.Context) error {
	if err := h.s.engine.ended(ctx, h.rec); err != nil {
		return err
	}
	if h.heard.IsZero() {
		h.heard = h.rec.ReadyAt
	}
	if silent := time.Since(h.heard); silent > h.ttl {
		return &Error{Kind: KindProvider, Err: fmt.Errorf("the machine has not answered for %s, and lives no longer than that without this program", silent.Round(time.Second))}
	}
	return nil
}

// While is a context that ends with ctx, and as soon as the machine of an attached lease
// is known to be lost: [context.Cause] then says how. Requests alone would be tried
// again for minutes.
func (s *Sandbox) While(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.lost:
			cancel(s.loss)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
