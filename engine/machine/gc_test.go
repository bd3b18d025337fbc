package machine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/state"
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
	r, err := b.start(context.Background(), "used")
	if err != nil {
		t.Fatal(err)
	}
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
	r, err := b.start(context.Background(), "dead")
	if err != nil {
		t.Fatal(err)
	}
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

func TestGCReportsButKeepsWhatItDoesNotKnow(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	if _, err := b.cloud.Create(context.Background(), sdk.MachineSpec{Key: "lost", Owner: b.ledger.Owner()}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.cloud.Create(context.Background(), sdk.MachineSpec{Key: "theirs", Owner: "somebody"}, nil); err != nil {
		t.Fatal(err)
	}
	report, err := b.driver.GC(context.Background(), machine.GCOptions{Also: []string{"cloud"}})
	if err != nil || len(report.Unrecorded) != 1 || report.Unrecorded[0].Handle != "cloud-1" || len(b.cloud.Live()) != 2 {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestGCDoesNotDisturbAStartThatGoesOn(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	other := newBenchAt(t, b.dir, b.clock, b.cloud)
	b.cloud.SetScript(enginetest.Script{Steps: 2, Boot: time.Second, Before: func(c enginetest.Call) error {
		if c.Op == enginetest.OpCreate || c.Op == enginetest.OpObserve && c.N == 2 {
			if report := other.gc(); len(report.Ended)+len(report.Failed) != 0 {
				t.Errorf("during %v: %+v", c, report)
			}
		}
		return nil
	}})
	if r, err := b.start(context.Background(), "busy"); err != nil || r.State != sdk.Running {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTwoEnginesOnOneFolder(t *testing.T) {
	a := newBench(t, enginetest.Script{Steps: 1})
	benches := []*bench{a, newBenchAt(t, a.dir, a.clock, a.cloud)}
	if benches[0].ledger.Owner() != benches[1].ledger.Owner() {
		t.Fatal("one folder has two owners")
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		won  int
		lost int
	)
	for i := range 8 {
		wg.Go(func() {
			b := *benches[i%2]
			b.events = nil
			_, err := b.start(context.Background(), "same")
			var conflict *machine.ConflictError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.As(err, &conflict):
				lost++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 || lost != 7 || len(a.cloud.Live()) != 1 {
		t.Errorf("%d got the name, %d did not, %d machines", won, lost, len(a.cloud.Live()))
	}
}

func TestRefreshSurvivesAProviderThatIsGone(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	if _, err := b.start(context.Background(), "fine"); err != nil {
		t.Fatal(err)
	}
	gone := machine.NewRecord()
	gone.Provider, gone.Handle = "uninstalled", "x"
	if err := b.ledger.Add(context.Background(), &gone); err != nil {
		t.Fatal(err)
	}
	all, err := b.driver.Refresh(context.Background())
	if err == nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if b.cloud.Calls(enginetest.OpObserve) < 2 {
		t.Error("the provider that works was not asked")
	}
}

func TestGCRemovesTheLockOfAStartThatNeverBegan(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	starting := filepath.Join(b.dir, "starting")
	if err := os.MkdirAll(starting, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sb-aaaaaaaaaa", "sb-bbbbbbbbbb"} {
		if err := os.WriteFile(filepath.Join(starting, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := state.Acquire(t.Context(), filepath.Join(starting, "sb-bbbbbbbbbb")) // its program still lives
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	b.gc()
	left, _ := os.ReadDir(starting)
	if len(left) != 1 || left[0].Name() != "sb-bbbbbbbbbb" {
		t.Errorf("left: %v", left)
	}
}
