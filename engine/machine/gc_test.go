package machine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

func TestGCLeavesTheLivingAlone(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	if _, err := b.start(context.Background(), "living"); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(59 * time.Minute)
	if report := b.gc(); len(report.Ended)+len(report.Cleaned)+len(report.Failed) != 0 {
		t.Errorf("report %+v", report)
	}
	if len(b.cloud.Live()) != 1 {
		t.Error("it ended a sandbox with a lease")
	}
}

func TestGCEndsExpiredLeases(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r, err := b.start(context.Background(), "old")
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(50 * time.Minute)
	if r, err = b.ledger.Heartbeat(context.Background(), r.ID); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(50 * time.Minute)
	if report := b.gc(); len(report.Ended) != 0 {
		t.Errorf("it ended a sandbox with a heartbeat: %+v", report)
	}
	b.clock.Advance(11 * time.Minute)
	if report := b.gc(); len(report.Ended) != 1 || report.Ended[0].Why != "its lease has ended" || report.Ended[0].ID != r.ID {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
}

func TestGCAsksTheSandboxForItsLease(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r := b.mustStart("used")
	b.driver.AskLease = func(context.Context, machine.Record) (machine.Lease, error) {
		return machine.NewLease(machine.Detached, time.Hour, b.clock.Now()), nil
	}
	b.clock.Advance(90 * time.Minute)
	if report := b.gc(); len(report.Ended) != 0 {
		t.Errorf("it ended a sandbox in use: %+v", report)
	}
	if r, _ = b.ledger.Get(r.ID); !r.Lease.End.Equal(b.clock.Now().Add(time.Hour)) {
		t.Errorf("the lease was not taken over: %+v", r.Lease)
	}
	b.clock.Advance(45 * time.Minute) // past the hard end, which no use extends
	if report := b.gc(); len(report.Ended) != 1 || report.Ended[0].Why != "its timeout has passed" {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
}

func TestGCCleansWhatEndedByItself(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r := b.mustStart("dead")
	b.cloud.Stop(r.Handle, sdk.Failed)
	all, err := b.driver.Refresh(context.Background())
	if err != nil || len(all) != 1 || all[0].State != sdk.Failed || all[0].Released || all[0].AdminToken != "" {
		t.Errorf("refresh: %+v, %v", all, err)
	}
	if report := b.gc(); len(report.Cleaned) != 1 || b.cloud.Calls(enginetest.OpTerminate) != 1 {
		t.Errorf("report %+v", report)
	}
	if r, _ = b.ledger.Get(r.ID); r.State != sdk.Failed {
		t.Errorf("gc changed how it ended to %s", r.State)
	}
	b.nothingLeft()
	b.clock.Advance(25 * time.Hour)
	if report := b.gc(); len(report.Forgotten) != 1 {
		t.Errorf("report %+v", report)
	}
	if all, _ := b.ledger.List(); len(all) != 0 {
		t.Errorf("the ledger still has %+v", all)
	}
}

// Clouds accept an end before it is done, and list the machine as running until then.
func TestGCGivesAMachineTimeToEnd(t *testing.T) {
	for what, before := range map[string]func(b *bench, r machine.Record){
		"while it ran": func(*bench, machine.Record) {},
		"long after it had failed": func(b *bench, r machine.Record) {
			b.cloud.Stop(r.Handle, sdk.Failed)
			if _, err := b.driver.Refresh(context.Background()); err != nil {
				t.Fatal(err)
			}
			b.clock.Advance(10 * time.Minute)
		},
	} {
		b := newBench(t, enginetest.Script{})
		r, err := b.start(context.Background(), "slow")
		if err != nil {
			t.Fatal(err)
		}
		before(b, r)
		if r, err = b.ledger.Get(r.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := b.driver.End(context.Background(), r, ""); err != nil {
			t.Fatal(err)
		}
		b.cloud.Stop(r.Handle, sdk.Running)
		if report := b.gc(); len(report.Cleaned)+len(report.Ended)+len(report.Failed)+len(report.Unrecorded) != 0 {
			t.Errorf("%s: report %+v", what, report)
		}
		b.clock.Advance(3 * time.Minute)
		if report := b.gc(); len(report.Cleaned) != 1 || !strings.Contains(report.Cleaned[0].Why, "left over") {
			t.Errorf("%s: report %+v", what, report)
		}
		b.nothingLeft()
	}
}

// A down that was given up in the middle is finished by gc.
func TestGCFinishesAnEndThatWasCancelled(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r := b.mustStart("")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.cloud.SetScript(enginetest.Script{Before: func(c enginetest.Call) error {
		if c.Op == enginetest.OpTerminate {
			cancel()
		}
		return nil
	}})
	var left *machine.LeftoverError
	if _, err := b.driver.End(ctx, r, "ended by the user"); !errors.As(err, &left) {
		t.Fatalf("error %v", err)
	}
	b.cloud.SetScript(enginetest.Script{})
	if report := b.gc(); len(report.Ended) != 1 {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
}

func TestGCEndsWhatHasSpentItsBudget(t *testing.T) {
	m := newMarket(t, enginetest.Script{CostPerHour: 2}, enginetest.Script{})
	r, err := m.rent(context.Background(), func(r *machine.Record) { r.Budget = 3 })
	if err != nil {
		t.Fatal(err)
	}
	m.clock.Advance(89 * time.Minute)
	if report := m.gc(); len(report.Ended) != 0 {
		t.Errorf("report %+v", report)
	}
	if got := r.Cost(m.clock.Now()); got < 2.96 || got > 2.97 {
		t.Errorf("89 minutes cost %v", got)
	}
	m.clock.Advance(time.Minute)
	if report := m.gc(); len(report.Ended) != 1 || report.Ended[0].Why != "its budget is spent" {
		t.Errorf("report %+v", report)
	}
	m.clock.Advance(time.Hour)
	if r, _ = m.ledger.Get(r.ID); r.Cost(m.clock.Now()) > 3.01 {
		t.Errorf("it costs money after its end: %v", r.Cost(m.clock.Now()))
	}
	m.nothingLeft()
}
