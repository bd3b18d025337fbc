package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/lease"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// ledger has one record in memory.
type ledger struct {
	mu    sync.Mutex
	rec   machine.Record
	beats int
	full  error // of updates
	stuck bool  // a heartbeat waits until its context ends
}

func (l *ledger) Heartbeat(ctx context.Context, _ string) (machine.Record, error) {
	if l.stuck {
		<-ctx.Done()
		return machine.Record{}, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats++
	l.rec.Lease = l.rec.Lease.Extend(time.Now())
	return l.rec, nil
}

func (l *ledger) setFull(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = err
}

func (l *ledger) Update(_ context.Context, _ string, change func(*machine.Record) error) (machine.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full != nil {
		return machine.Record{}, l.full
	}
	err := change(&l.rec)
	return l.rec, err
}

func keeper(l *ledger, runtime func(protocol.LeaseRequest) error, ended error) *lease.Keeper {
	return lease.New("sb-1", lease.Options{
		Ledger: l, Now: time.Now, Logger: hclog.NewNullLogger(),
		Runtime: func(_ context.Context, r protocol.LeaseRequest) error { return runtime(r) },
		Ended:   func(context.Context, machine.Record) error { return ended },
	})
}

// A machine that is known to have ended ends what waits for it, with the reason.
func TestLostMachine(t *testing.T) {
	t.Parallel()
	ended := errors.New("the machine ended")
	k := keeper(&ledger{}, func(protocol.LeaseRequest) error { return errors.New("no route") }, ended)
	living, cancel := k.Context(t.Context())
	defer cancel()
	k.Booted()
	k.Start(t.Context(), machine.Record{ID: "sb-1"}, time.Minute, 0)
	defer k.Stop()
	select {
	case <-living.Done():
	case <-time.After(time.Minute):
		t.Fatal("nothing has ended")
	}
	if !errors.Is(context.Cause(living), ended) {
		t.Errorf("got %v", context.Cause(living))
	}
}

// A machine that has ended is known to be lost while a heartbeat to it is still repeated.
func TestLostMachineThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := errors.New("the machine ended")
		k := lease.New("sb-1", lease.Options{
			Ledger: &ledger{}, Now: time.Now, Logger: hclog.NewNullLogger(),
			Runtime: func(ctx context.Context, _ protocol.LeaseRequest) error { <-ctx.Done(); return ctx.Err() },
			Ended:   func(context.Context, machine.Record) error { return ended },
		})
		living, cancel := k.Context(t.Context())
		defer cancel()
		k.Booted()
		began := time.Now()
		k.Start(t.Context(), machine.Record{ID: "sb-1"}, time.Minute, 0)
		defer k.Stop()
		<-living.Done()
		if took := time.Since(began); took != 5*time.Second || !errors.Is(context.Cause(living), ended) {
			t.Errorf("%v after %s", context.Cause(living), took)
		}
	})
}

// Before the runtime has booted, heartbeats go to the ledger alone.
func TestHeartbeatBeforeBoot(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	k := keeper(l, func(protocol.LeaseRequest) error { t.Error("the runtime was asked"); return nil }, nil)
	k.Start(t.Context(), machine.Record{ID: "sb-1"}, time.Minute, 0)
	testkit.Eventually(t, "a heartbeat", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.beats > 0
	})
	k.Stop()
	k.Stop() // is idempotent
	if l.beats != 1 {
		t.Errorf("%d heartbeats", l.beats)
	}
}

// The machine gets its heartbeats while another program has the ledger locked.
func TestHeartbeatWithoutLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int32
		k := keeper(&ledger{stuck: true}, func(protocol.LeaseRequest) error { beats.Add(1); return nil }, nil)
		k.Booted()
		k.Start(t.Context(), machine.Record{ID: "sb-1"}, time.Minute, 0)
		defer k.Stop()
		time.Sleep(10 * time.Minute) // of the fake clock
		synctest.Wait()
		if n := beats.Load(); n < 40 {
			t.Errorf("%d heartbeats in ten leases", n)
		}
	})
}

// A detached lease keeps the idle time and ends no later than the machine.
func TestDetach(t *testing.T) {
	t.Parallel()
	l := &ledger{rec: machine.Record{ID: "sb-1", State: sdk.Running, HardEnd: time.Now().Add(time.Minute), Lease: machine.Lease{IdleSeconds: 30}}}
	var got protocol.LeaseRequest
	k := keeper(l, func(r protocol.LeaseRequest) error { got = r; return nil }, nil)
	if err := k.Detach(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got.Kind != protocol.LeaseKind(machine.Detached) || got.IdleSeconds != 30 || got.TTLSeconds > 60 || l.rec.Lease.Kind != machine.Detached {
		t.Errorf("%+v, %+v", got, l.rec.Lease)
	}
	l.rec = machine.Record{ID: "sb-1", State: sdk.Stopped, Message: "ended by the user"}
	if err := k.Detach(t.Context(), time.Hour); errdefs.KindOf(err) != errdefs.KindProvider {
		t.Errorf("of one that has ended: %v", err)
	}
}

// A sandbox that is kept because the disk is full outlives its program although the ledger is on that
// disk, too.
func TestDetachOnAFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{full: &state.NoSpaceError{}, rec: machine.Record{ID: "sb-1", State: sdk.Running, Lease: machine.NewLease(machine.Attached, time.Minute, time.Now())}}
		var last protocol.LeaseRequest
		var beats atomic.Int32
		k := keeper(l, func(r protocol.LeaseRequest) error {
			beats.Add(1)
			last = r
			return nil
		}, nil)
		k.Booted()
		k.Start(t.Context(), l.rec, time.Minute, 0)
		defer k.Stop()
		synctest.Wait()
		if err := k.Detach(t.Context(), time.Hour); err != nil {
			t.Error(err)
		}
		beats.Store(0)
		time.Sleep(10 * time.Minute) // of the fake clock
		synctest.Wait()
		if beats.Load() != 0 || last.Kind != protocol.LeaseKind(machine.Detached) || last.TTLSeconds != 3600 {
			t.Errorf("%d heartbeats after %+v", beats.Load(), last)
		}
	})
}

// A sandbox that could not be detached is kept alive as before.
func TestFailedDetach(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute
	for name, c := range map[string]struct{ ledger, runtime error }{
		"no ledger": {ledger: errors.New("wait for the lock")},
		"no route":  {runtime: errors.New("no route")},
		"neither":   {ledger: &state.NoSpaceError{}, runtime: errors.New("no route")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{full: c.ledger, rec: machine.Record{ID: "sb-1", State: sdk.Running, Lease: machine.NewLease(machine.Attached, ttl, time.Now())}}
				var beats atomic.Int32
				k := keeper(l, func(r protocol.LeaseRequest) error {
					if r.Kind != protocol.LeaseKind(machine.Attached) {
						l.setFull(nil) // there is space again
						return c.runtime
					}
					beats.Add(1)
					return nil
				}, nil)
				k.Booted()
				k.Start(t.Context(), l.rec, ttl, 0)
				defer k.Stop()
				synctest.Wait()
				if err := k.Detach(t.Context(), time.Hour); err == nil {
					t.Error("detached")
				}
				synctest.Wait()
				beats.Store(0)
				time.Sleep(10 * ttl) // of the fake clock
				synctest.Wait()
				if n := beats.Load(); n < 39 {
					t.Errorf("%d heartbeats in ten leases", n)
				}
				if l := l.rec.Lease; l.Kind != machine.Attached || l.Expired(time.Now()) {
					t.Errorf("the ledger says %+v", l)
				}
				l.setFull(nil)
				c.runtime = nil
				if err := k.Detach(t.Context(), time.Hour); err != nil {
					t.Error(err)
				}
				beats.Store(0)
				time.Sleep(10 * ttl) // of the fake clock
				if n := beats.Load(); n > 0 || l.rec.Lease.Kind != machine.Detached {
					t.Errorf("%d heartbeats of %+v, which is detached", n, l.rec.Lease)
				}
			})
		})
	}
}
