package machine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// bench is an engine with one fake cloud.
type bench struct {
	t      *testing.T
	dir    string
	clock  *enginetest.Clock
	cloud  *enginetest.Provider
	ledger *machine.Ledger
	driver *machine.Driver
	events []machine.Event
}

func newBench(t *testing.T, script enginetest.Script) *bench {
	clock := enginetest.NewClock()
	return newBenchAt(t, t.TempDir(), clock, enginetest.NewProvider("cloud", clock, script))
}

// newBenchAt is a further engine on the same folder and cloud.
func newBenchAt(t *testing.T, dir string, clock *enginetest.Clock, cloud *enginetest.Provider) *bench {
	t.Helper()
	ledger, err := machine.OpenLedger(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, clock: clock, cloud: cloud, ledger: ledger}
	b.driver = machine.NewDriver(machine.Options{Ledger: ledger, Clock: clock, Providers: b.provider})
	return b
}

func (b *bench) provider(_ context.Context, name string) (sdk.Provider, error) {
	if name != "cloud" {
		return nil, sdk.Errorf(sdk.NotFound, "there is no provider %q", name)
	}
	return b.cloud, nil
}

func (b *bench) start(ctx context.Context, name string) (machine.Record, error) {
	r := machine.NewRecord()
	r.Name, r.AdminToken = name, "secret"
	r.Lease = machine.NewLease(machine.Detached, time.Hour, b.clock.Now())
	spec := sdk.MachineSpec{Command: []string{"true"}, Port: 7070, TimeoutSeconds: 7200}
	return b.driver.Start(ctx, r, []machine.Choice{{Provider: "cloud", Spec: spec}}, func(e machine.Event) { b.events = append(b.events, e) })
}

// mustStart is start of a machine that must start.
func (b *bench) mustStart(name string) machine.Record {
	b.t.Helper()
	r, err := b.start(context.Background(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) gc() machine.GCReport {
	b.t.Helper()
	report, err := b.driver.GC(context.Background(), machine.GCOptions{})
	if err != nil {
		b.t.Fatalf("gc: %v", err)
	}
	return report
}

// nothingLeft checks that no machine costs money and the ledger knows it.
func (b *bench) nothingLeft() {
	b.t.Helper()
	if live := b.cloud.Live(); len(live) != 0 {
		b.t.Errorf("machines are left: %+v", live)
	}
	all, err := b.ledger.List()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range all {
		if r.Live() || !r.Released || r.AdminToken != "" {
			b.t.Errorf("the ledger still has %s in state %s, released %v, token %q", r.ID, r.State, r.Released, r.AdminToken)
		}
	}
}

func (b *bench) text(kind machine.EventKind) string {
	var out []string
	for _, e := range b.events {
		if e.Kind == kind {
			out = append(out, e.Text)
		}
	}
	return strings.Join(out, "\n")
}

func TestStartTakesEveryStep(t *testing.T) {
	b := newBench(t, enginetest.Script{Steps: 3, StepDelay: 20 * time.Second, Boot: time.Minute, CostPerHour: 2.5})
	began := b.clock.Now()
	r := b.mustStart("one")
	if url, _ := r.Endpoint(7070); r.State != sdk.Running || url != "https://cloud-1.test" || r.CostPerHour != 2.5 || r.ReadyAt.IsZero() {
		t.Errorf("the record is %+v", r)
	}
	if got := b.text(machine.EventLog); got != "step 1 of 3\nstep 2 of 3\nstep 3 of 3" {
		t.Errorf("the user saw %q", got)
	}
	if waited := b.clock.Now().Sub(began); waited < 2*time.Minute || waited > 2*time.Minute+10*time.Second {
		t.Errorf("it took %s", waited)
	}
	if want := began.Add(2 * time.Hour); !r.HardEnd.Equal(want) {
		t.Errorf("the hard end is %s, not %s", r.HardEnd, want)
	}
	if got, err := b.ledger.Get(r.ID); err != nil || got.Handle != "cloud-1" {
		t.Errorf("the ledger has %+v, %v", got, err)
	}
	r, err := b.driver.End(context.Background(), r, "asked to")
	if err != nil || r.State != sdk.Stopped {
		t.Errorf("end: %+v, %v", r, err)
	}
	if _, err = b.driver.End(context.Background(), r, "again"); err != nil {
		t.Errorf("a second end: %v", err)
	}
	b.nothingLeft()
}

func TestPassingFaultsAreRetried(t *testing.T) {
	slow := sdk.Errorf(sdk.RateLimited, "slow down")
	slow.Seconds = 42
	b := newBench(t, enginetest.Script{Steps: 1, Before: func(c enginetest.Call) error {
		switch {
		case c.Op == enginetest.OpCreate && c.N == 1:
			return slow
		case c.N == 2:
			return sdk.Errorf(sdk.Unavailable, "hiccup")
		}
		return nil
	}})
	began := b.clock.Now()
	if _, err := b.start(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if waited := b.clock.Now().Sub(began); waited < 42*time.Second || waited > 50*time.Second {
		t.Errorf("waited %s where the cloud asked for 42 s", waited)
	}
	if got := b.text(machine.EventRetry); !strings.Contains(got, "slow down; trying again in 42s") || !strings.Contains(got, "hiccup") {
		t.Errorf("the user saw %q", got)
	}
}

func TestLostAnswersRentNothingTwice(t *testing.T) {
	b := newBench(t, enginetest.Script{Steps: 2, After: func(c enginetest.Call) error {
		if c.N%2 == 1 {
			return sdk.Errorf(sdk.Unavailable, "connection reset")
		}
		return nil
	}})
	r := b.mustStart("")
	if live := b.cloud.Live(); len(live) != 1 || live[0].Handle != r.Handle {
		t.Errorf("rented %+v", live)
	}
}

func TestLastingFaultsEndTheStart(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script enginetest.Script
		want   string
	}{
		{"no capacity", enginetest.Script{Steps: 2, Before: failAt(enginetest.OpCreate, 2, sdk.NoCapacity, "no A100 is free")}, "no A100 is free"},
		{"never available", enginetest.Script{Before: failAt(enginetest.OpObserve, 0, sdk.Unavailable, "down")}, "down (tried"},
		{"too slow", enginetest.Script{Steps: 1 << 20, StepDelay: time.Minute}, "not ready within 30m"},
		{"boots for ever", enginetest.Script{Boot: 24 * time.Hour}, "not ready within 30m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, tc.script)
			r, err := b.start(context.Background(), "x")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v", err)
			}
			if r.State != sdk.Failed || !strings.Contains(r.Message, tc.want) {
				t.Errorf("the record says %s %q", r.State, r.Message)
			}
			b.nothingLeft()
		})
	}
}

func TestMachineThatEndsWhileStarting(t *testing.T) {
	b := newBench(t, enginetest.Script{Boot: time.Hour})
	b.cloud.SetScript(enginetest.Script{Boot: time.Hour, Before: func(c enginetest.Call) error {
		if c.Op == enginetest.OpObserve && c.N == 3 {
			b.cloud.Stop("cloud-1", sdk.Failed)
		}
		return nil
	}})
	if _, err := b.start(context.Background(), ""); err == nil || !strings.Contains(err.Error(), "ended before it could be reached") {
		t.Fatal(err)
	}
	b.nothingLeft()
}

func failAt(op enginetest.Op, n int, code sdk.Code, text string) enginetest.Fault {
	return func(c enginetest.Call) error {
		if c.Op == op && (n == 0 || c.N == n) {
			return sdk.Errorf(code, "%s", text)
		}
		return nil
	}
}

// everyCall runs a test for each provider call of a start, before and after its
// effect.
func everyCall(t *testing.T, run func(t *testing.T, b *bench, arm func(at func()))) {
	script := enginetest.Script{Steps: 2, StepDelay: time.Second, Boot: time.Millisecond}
	calls := []enginetest.Call{{Op: enginetest.OpCreate, N: 1}, {Op: enginetest.OpCreate, N: 2}, {Op: enginetest.OpCreate, N: 3},
		{Op: enginetest.OpObserve, N: 1}, {Op: enginetest.OpObserve, N: 2}}
	for _, call := range calls {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-%d-after=%v", call.Op, call.N, after), func(t *testing.T) {
				b := newBench(t, script)
				run(t, b, func(at func()) {
					s := script
					fault := func(c enginetest.Call) error {
						if c == call {
							at()
						}
						return nil
					}
					if after {
						s.After = fault
					} else {
						s.Before = fault
					}
					b.cloud.SetScript(s)
				})
			})
		}
	}
}

func TestCancelAtEveryStepLeavesNothing(t *testing.T) {
	everyCall(t, func(t *testing.T, b *bench, arm func(func())) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		arm(cancel)
		r, err := b.start(ctx, "cancelled")
		if err == nil { // cancelled in the very last call, which still succeeded
			if _, err := b.driver.End(context.Background(), r, ""); err != nil {
				t.Fatal(err)
			}
		} else if !errors.Is(err, context.Canceled) || r.Message != "the start was cancelled" {
			t.Errorf("error %v, message %q", err, r.Message)
		}
		b.nothingLeft()
	})
}

// died stands for a program that was killed: nothing of it runs any more, except
// that the system lets go of its locks.
type died struct{}

func TestCrashAtEveryStepIsRepairedByGC(t *testing.T) {
	everyCall(t, func(t *testing.T, b *bench, arm func(func())) {
		arm(func() { panic(died{}) })
		func() {
			defer func() {
				if _, ok := recover().(died); !ok {
					t.Error("the start did not reach the step")
				}
			}()
			_, _ = b.start(context.Background(), "crashed")
		}()
		b.cloud.SetScript(enginetest.Script{})
		// Another program, later, on the same folder.
		other := newBenchAt(t, b.dir, b.clock, b.cloud)
		report := other.gc()
		if len(report.Ended) != 1 || len(report.Failed) != 0 {
			t.Errorf("report %+v", report)
		}
		other.nothingLeft()
		if _, err := other.start(context.Background(), "crashed"); err != nil {
			t.Errorf("its name is not free again: %v", err)
		}
	})
}

func TestTerminateThatFailsIsNotForgotten(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r, err := b.start(context.Background(), "sticky")
	if err != nil {
		t.Fatal(err)
	}
	b.cloud.SetScript(enginetest.Script{Before: failAt(enginetest.OpTerminate, 0, sdk.Unauthorized, "the key was revoked")})
	var left *machine.LeftoverError
	if _, err = b.driver.End(context.Background(), r, ""); !errors.As(err, &left) || left.Handle != "cloud-1" {
		t.Fatalf("error %v", err)
	}
	if r, _ = b.ledger.Get(r.ID); !r.Live() || r.Released || !strings.Contains(r.Message, "revoked") {
		t.Errorf("the record says %s %v %q", r.State, r.Released, r.Message)
	}
	if err := b.ledger.Remove(context.Background(), r.ID); err == nil {
		t.Error("a live sandbox could be forgotten")
	}
	b.clock.Advance(3 * time.Hour)
	if report := b.gc(); len(report.Failed) != 1 || !strings.Contains(report.Failed[0].Why, "revoked") || len(report.Ended) != 0 {
		t.Errorf("report %+v", report)
	}
	b.cloud.SetScript(enginetest.Script{})
	if report := b.gc(); len(report.Ended) != 1 || len(report.Failed) != 0 {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
}

func TestFailedStartThatCannotBeUndoneSaysSo(t *testing.T) {
	b := newBench(t, enginetest.Script{Boot: 24 * time.Hour, Before: failAt(enginetest.OpTerminate, 0, sdk.Internal, "boom")})
	_, err := b.start(context.Background(), "")
	var left *machine.LeftoverError
	if !errors.As(err, &left) || !remedy.Has(remedy.Of(err), remedy.CollectGarbage) {
		t.Fatalf("error %v", err)
	}
	b.cloud.SetScript(enginetest.Script{})
	b.gc()
	b.nothingLeft()
}

func TestEndWhileStarting(t *testing.T) {
	everyCall(t, func(t *testing.T, b *bench, arm func(func())) {
		other := newBenchAt(t, b.dir, b.clock, b.cloud)
		done := false
		arm(func() {
			if done {
				return
			}
			done = true
			r, err := other.ledger.Resolve("both")
			if err == nil {
				_, err = other.driver.End(context.Background(), r, "changed my mind")
			}
			if err != nil {
				t.Error(err)
			}
		})
		r, err := b.start(context.Background(), "both")
		if err == nil {
			t.Errorf("it started: %+v", r)
		}
		if r, _ = b.ledger.Get(r.ID); r.State != sdk.Stopped || r.Message != "changed my mind" {
			t.Errorf("it says %s, %q", r.State, r.Message)
		}
		b.nothingLeft()
	})
}
