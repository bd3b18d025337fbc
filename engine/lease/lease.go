// Package lease keeps a sandbox alive while its program lives, and no longer.
package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
)

// Ledger is what a [Keeper] needs of the ledger.
type Ledger interface {
	Heartbeat(ctx context.Context, id string) (machine.Record, error)
	Update(ctx context.Context, id string, change func(*machine.Record) error) (machine.Record, error)
}

// Options say what a [Keeper] works with. All fields must be set.
type Options struct {
	Ledger  Ledger
	Runtime func(context.Context, protocol.LeaseRequest) error // gives the runtime a lease
	Ended   func(context.Context, machine.Record) error        // nil unless the machine is known to have ended
	Now     func() time.Time
	Logger  hclog.Logger
}

// Keeper keeps the lease of one sandbox. It is safe for concurrent use.
type Keeper struct {
	o  Options
	id string

	booted atomic.Bool   // the runtime has a lease, which heartbeats extend
	lost   chan struct{} // closed once loss is known
	loss   error

	detaching sync.Mutex
	mu        sync.Mutex         // of the next two
	beat      *heartbeat         // nil when the lease is detached or was given up
	cancel    context.CancelFunc // of the heartbeats that were last begun
	beating   sync.WaitGroup
}

// New makes the keeper of a sandbox. It does nothing until it is told to.
func New(id string, o Options) *Keeper {
	return &Keeper{o: o, id: id, lost: make(chan struct{})}
}

// Start keeps an attached lease alive until [Keeper.Stop], in the ledger and, from
// [Keeper.Booted] on, at the runtime. Neither waits for the other: a slow disk here, or a
// program that stands still while it changes the ledger, ends no machine there. It may be called once.
func (k *Keeper) Start(ctx context.Context, rec machine.Record, ttl, idle time.Duration) {
	k.mu.Lock()
	k.beat = &heartbeat{k: k, ttl: ttl, idle: idle, pause: max(ttl/4, time.Second)}
	k.beat.rec.Store(&rec)
	k.mu.Unlock()
	k.resume(ctx)
}

// resume begins the heartbeats of an attached lease, after [Keeper.interrupt] once more.
func (k *Keeper) resume(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.beat
	if b == nil {
		return
	}
	ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	k.beating.Go(func() { b.keep(ctx, b.toLedger) })
	k.beating.Go(func() { b.keep(ctx, b.toMachine) })
}

// interrupt ends the heartbeats and waits for the last one.
func (k *Keeper) interrupt() {
	k.mu.Lock()
	if k.cancel != nil {
		k.cancel()
	}
	k.mu.Unlock()
	k.beating.Wait()
}

// Booted says that the runtime has a lease, which heartbeats extend from now on.
func (k *Keeper) Booted() { k.booted.Store(true) }

// Stop ends the heartbeats and waits for the last one. An attached lease then runs out.
func (k *Keeper) Stop() {
	k.mu.Lock()
	k.beat = nil
	k.mu.Unlock()
	k.interrupt()
}

// Detach gives the sandbox a lease of its own that ends after ttl, so that it outlives the
// program that made it. Its hard end stays. A full disk here does not prevent it. After an error
// the lease is what it was, and heartbeats continue to extend an attached one.
func (k *Keeper) Detach(ctx context.Context, ttl time.Duration) error {
	k.detaching.Lock()
	defer k.detaching.Unlock()
	var before machine.Lease
	rec, err := k.o.Ledger.Update(ctx, k.id, func(r *machine.Record) error {
		if !r.Live() {
			return &errdefs.Error{Kind: errdefs.KindProvider, Err: fmt.Errorf("the sandbox %s has ended: %s", r.ID, cmp.Or(r.Message, string(r.State)))}
		}
		before = r.Lease
		r.Lease = machine.NewLease(machine.Detached, ttl, k.o.Now())
		r.Lease.IdleSeconds = before.IdleSeconds
		return nil
	})
	if errors.Is(err, state.ErrNoSpace) {
		rec, err = k.unwritten(err)
		before = rec.Lease // the ledger may not have shown its own
	}
	if err != nil {
		return errdefs.Wrap(errdefs.KindInternal, err)
	}
	k.interrupt() // a heartbeat after the request would make the lease attached again
	idle := time.Duration(rec.Lease.IdleSeconds) * time.Second
	if err := k.Put(ctx, rec, machine.Detached, ttl, idle); err != nil {
		k.resume(ctx)
		return errdefs.Wrap(errdefs.KindProvider, errors.Join(err, k.putBack(ctx, before)))
	}
	k.Stop()
	return nil
}

// unwritten is the record of a sandbox that is detached although the ledger cannot be written: on a
// full disk, the sandbox may hold the only copy of its results. Garbage collection asks the machine
// for its lease before it ends a sandbox whose lease in the ledger has expired.
func (k *Keeper) unwritten(full error) (machine.Record, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.beat == nil {
		return machine.Record{}, full
	}
	k.o.Logger.Warn("the ledger does not say that the sandbox outlives this program", "sandbox", k.id, "error", full)
	return *k.beat.rec.Load(), nil
}

// putBackPatience limits the wait for the ledger after a failed [Keeper.Detach].
const putBackPatience = 10 * time.Second

// putBack has the ledger say again what the runtime does not know otherwise.
func (k *Keeper) putBack(ctx context.Context, before machine.Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackPatience)
	defer cancel()
	_, err := k.o.Ledger.Update(ctx, k.id, func(r *machine.Record) error {
		if r.Lease = before; before.Kind == machine.Attached { // the request may have taken longer than the lease
			r.Lease = before.Extend(k.o.Now())
		}
		return nil
	})
	return err
}

// Put tells the runtime how long it may live from now on.
func (k *Keeper) Put(ctx context.Context, r machine.Record, kind machine.LeaseKind, ttl, idle time.Duration) error {
	return k.o.Runtime(ctx, protocol.LeaseRequest{
		Kind: protocol.LeaseKind(kind), TTLSeconds: k.within(ttl, r).Seconds(), IdleSeconds: idle.Seconds(),
	})
}

// within is a lease that does not outlive what the budget pays for, which may end a
// little before the machine itself would.
func (k *Keeper) within(ttl time.Duration, r machine.Record) time.Duration {
	if r.HardEnd.IsZero() {
		return ttl
	}
	return max(min(ttl, r.HardEnd.Sub(k.o.Now())), time.Second)
}

// Context is a context that ends with ctx, and as soon as the machine of an attached lease
// is known to be lost: [context.Cause] then says how. Requests alone would be tried
// again for minutes.
func (k *Keeper) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-k.lost:
			cancel(k.loss)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// heartbeat gives the signs of life of an attached lease, and takes those of the machine.
type heartbeat struct {
	k     *Keeper
	rec   atomic.Pointer[machine.Record] // as the ledger last said
	ttl   time.Duration                  // that a sign lasts
	idle  time.Duration
	pause time.Duration // between two
	heard time.Time     // when the machine last took one
}

// keep gives signs until ctx ends or the machine is known to be lost. A missed one is made
// up by the next; the lease outlives three.
func (h *heartbeat) keep(ctx context.Context, send func(context.Context)) {
	tick := time.NewTicker(h.pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.k.lost:
			return
		default:
			send(ctx)
		}
		select {
		case <-ctx.Done():
		case <-h.k.lost:
		case <-tick.C:
		}
	}
}

// toLedger gives the ledger a sign.
func (h *heartbeat) toLedger(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, h.pause) // then the log tells of it
	defer cancel()
	switch rec, err := h.k.o.Ledger.Heartbeat(limited, h.k.id); {
	case err == nil:
		h.rec.Store(&rec)
	case ctx.Err() == nil:
		h.log().Warn("the ledger takes no heartbeat", "error", err)
	}
}

// toMachine gives the machine a sign, and finds out that it is lost.
func (h *heartbeat) toMachine(ctx context.Context) {
	if !h.k.booted.Load() {
		return
	}
	sent := time.Now()
	err := h.put(ctx)
	if err == nil {
		h.heard = sent
		return
	}
	if ctx.Err() != nil {
		return
	}
	h.log().Warn("the machine takes no heartbeat", "error", err)
	if err := h.missed(ctx); err != nil {
		h.k.loss = err
		close(h.k.lost)
	}
}

func (h *heartbeat) log() hclog.Logger { return h.k.o.Logger.With("sandbox", h.k.id) }

// put gives the machine a sign. Behind an upload it may take long, and a client repeats a
// request that fails: so the provider is soon asked whether there still is a machine.
func (h *heartbeat) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*h.pause)
	defer cancel()
	rec := *h.rec.Load()
	late := time.AfterFunc(h.pause/3, func() {
		if h.k.o.Ended(ctx, rec) != nil {
			cancel()
		}
	})
	defer late.Stop()
	return h.k.Put(ctx, rec, machine.Attached, h.ttl, h.idle)
}

// missed says why a machine that took no heartbeat is lost; nil while it may come back.
func (h *heartbeat) missed(ctx context.Context) error {
	rec := *h.rec.Load()
	if err := h.k.o.Ended(ctx, rec); err != nil {
		return err
	}
	if h.heard.IsZero() {
		h.heard = rec.ReadyAt
	}
	if silent := time.Since(h.heard); silent > h.ttl {
		return &errdefs.Error{Kind: errdefs.KindProvider, Err: fmt.Errorf("the machine has not answered for %s, and lives no longer than that without this program", silent.Round(time.Second))}
	}
	return nil
}
