package machine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// dies is a start whose program is killed when its provider has rented the machine. List
// shows it some time later.
func (b *bench) dies(late time.Duration) machine.Record {
	b.t.Helper()
	return b.diesAs("", late)
}

// diesAs is dies of a start with a name.
func (b *bench) diesAs(name string, late time.Duration) machine.Record {
	b.t.Helper()
	b.driver.Late = func(string) time.Duration { return 90 * time.Second }
	b.cloud.SetScript(enginetest.Script{ListDelay: late, After: func(c enginetest.Call) error {
		if c.Op == enginetest.OpCreate {
			panic(died{})
		}
		return nil
	}})
	func() {
		defer func() { _ = recover() }()
		_, _ = b.start(b.t.Context(), name)
	}()
	b.cloud.SetScript(enginetest.Script{ListDelay: late})
	all, err := b.ledger.List()
	if err != nil || len(all) != 1 || all[0].Handle != "" || len(b.cloud.Live()) != 1 {
		b.t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

// A start that was killed before its handle was known may have a machine that no list
// shows yet. One collection finds it.
func TestGCLooksAgainForALateMachine(t *testing.T) {
	for _, late := range []time.Duration{0, 2500 * time.Millisecond, 35 * time.Second, 80 * time.Second} {
		b := newBench(t, enginetest.Script{})
		b.dies(late)
		report := b.gc()
		if len(report.Ended) != 1 || len(report.Failed) != 0 {
			t.Errorf("%s late: report %+v", late, report)
		}
		b.nothingLeft()
		if report := b.gc(); len(report.Ended)+len(report.Cleaned)+len(report.Failed) != 0 {
			t.Errorf("%s late: the next one says %+v", late, report)
		}
	}
}

// A collection that is broken off while it looks again leaves the rest to the next one.
func TestGCIsBrokenOff(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r := b.dies(10 * time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	b.cloud.SetScript(enginetest.Script{ListDelay: 10 * time.Second, After: func(c enginetest.Call) error {
		if c.Op == enginetest.OpList {
			cancel()
		}
		return nil
	}})
	if _, err := b.driver.GC(ctx, machine.GCOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if r, err := b.ledger.Get(r.ID); err != nil || r.Released || len(b.cloud.Live()) != 1 {
		t.Errorf("the record is %+v, %v", r, err)
	}
	b.cloud.SetScript(enginetest.Script{ListDelay: 10 * time.Second})
	b.gc()
	b.nothingLeft()
}

// A start that died long ago is looked for once.
func TestGCDoesNotWaitForWhatIsOld(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	b.dies(0)
	b.clock.Advance(time.Hour)
	began := b.clock.Now()
	b.gc()
	if waited := b.clock.Now().Sub(began); waited != 0 {
		t.Errorf("it waited for %s", waited)
	}
	b.nothingLeft()
}

// A start that failed without an answer about its machine may have one as well.
func TestFailedStartWithALateMachine(t *testing.T) {
	b := newBench(t, enginetest.Script{ListDelay: 30 * time.Second, After: failAt(enginetest.OpCreate, 1, sdk.Internal, "the answer is lost")})
	b.driver.Late = func(string) time.Duration { return 90 * time.Second }
	if _, err := b.start(t.Context(), ""); err == nil {
		t.Fatal("it started")
	}
	if report := b.gc(); len(report.Cleaned) != 1 {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()

	refused := newBench(t, enginetest.Script{Before: failAt(enginetest.OpCreate, 1, sdk.Unauthorized, "no")})
	refused.driver.Late = b.driver.Late
	if _, err := refused.start(t.Context(), ""); err == nil {
		t.Fatal("it started")
	}
	refused.nothingLeft() // nothing was made, and nobody has to look again
}

// A provider that was asked once may have made two machines. One is the sandbox's; the
// other is nobody's, and is ended by whichever command looks first.
func TestTwoMachinesOfOneStart(t *testing.T) {
	for _, by := range []string{"gc", "down"} {
		b := newBench(t, enginetest.Script{})
		b.driver.Late = func(string) time.Duration { return time.Minute }
		r, err := b.start(t.Context(), "pair")
		if err != nil {
			t.Fatal(err)
		}
		twin := b.cloud.Twin(r.Key)
		var second *machine.TwinError
		if all, err := b.driver.Refresh(t.Context()); !errors.As(err, &second) || second.Handle != twin || !all[0].Live() {
			t.Errorf("refresh says %v", err)
		}
		if by == "gc" {
			if report := b.gc(); len(report.Cleaned) != 1 || report.Cleaned[0].Handle != twin || len(report.Ended) != 0 {
				t.Errorf("report %+v", report)
			}
			if live := b.cloud.Live(); len(live) != 1 || live[0].Handle != r.Handle {
				t.Errorf("after gc there are %+v", live)
			}
		}
		if _, err := b.driver.End(t.Context(), r, "asked to"); err != nil {
			t.Error(err)
		}
		b.nothingLeft()
	}
}

func TestGCDoesNotTrustAClockThatWasAhead(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r := b.mustStart("ahead")
	if _, err := b.driver.End(context.Background(), r, ""); err != nil {
		t.Fatal(err)
	}
	b.cloud.Stop(r.Handle, sdk.Running)
	b.clock.Advance(-24 * time.Hour)
	if report := b.gc(); len(report.Cleaned) != 1 {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
}

func TestGCEndsAMachineThatCameTooLate(t *testing.T) {
	b := newBench(t, enginetest.Script{Steps: 1, Before: failAt(enginetest.OpCreate, 1, sdk.NoCapacity, "none")})
	r, err := b.start(context.Background(), "")
	if err == nil {
		t.Fatal("it started")
	}
	// The request had got through after all.
	b.cloud.SetScript(enginetest.Script{})
	if _, err := b.cloud.Create(context.Background(), sdk.MachineSpec{Key: r.Key, Owner: b.ledger.Owner(), Port: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if report := b.gc(); len(report.Cleaned) != 1 {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
}

// A second start gets the name of a sandbox whose start was killed, and the user does not pay for
// two machines.
func TestStartAgainAfterTheStartDied(t *testing.T) {
	for _, late := range []time.Duration{0, 35 * time.Second} {
		b := newBench(t, enginetest.Script{})
		dead := b.diesAs("lab", late)
		r := b.mustStart("lab")
		if dead, err := b.ledger.Get(dead.ID); err != nil || dead.Live() {
			t.Errorf("%s late: the dead start is %+v, %v", late, dead, err)
		}
		b.gc() // of the machine that was not to be seen yet
		live := b.cloud.Live()
		if len(live) != 1 || live[0].Handle != r.Handle {
			t.Errorf("%s late: the machines are %+v, and the sandbox has %s", late, live, r.Handle)
		}
	}
}

// A sandbox keeps its name as long as its lease, and no longer.
func TestStartWithTheNameOfAnExpiredSandbox(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	old := b.mustStart("lab")
	b.clock.Advance(59 * time.Minute)
	var conflict *machine.ConflictError
	if _, err := b.start(t.Context(), "lab"); !errors.As(err, &conflict) || conflict.ID != old.ID {
		t.Errorf("while its lease lasts: %v", err)
	}
	b.clock.Advance(2 * time.Minute)
	r := b.mustStart("lab")
	if live := b.cloud.Live(); len(live) != 1 || live[0].Handle != r.Handle {
		t.Errorf("the machines are %+v, and the sandbox has %s", live, r.Handle)
	}
}
