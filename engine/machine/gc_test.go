package machine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// dies is a start whose program is killed when its provider has rented the machine. List
// shows it some time later.
func (b *bench) dies(late time.Duration) machine.Record {
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
		_, _ = b.start(b.t.Context(), "")
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
	r, err := b.start(context.Background(), "ahead")
	if err != nil {
		t.Fatal(err)
	}
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

// A machine without a record, as when a ledger was lost, is left to its own lease,
// and ended when that should have ended it. Those of other owners are not touched.
func TestGCOfMachinesThatNobodyKnows(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	now := b.clock.Now() // 03:04:05
	for key, end := range map[string]time.Duration{"soon": time.Hour, "late": 48 * time.Hour, "unknown": 0} {
		spec := sdk.MachineSpec{Key: key, Owner: b.ledger.Owner()}
		if end > 0 {
			spec.EndUnix = now.Add(end).Unix()
		}
		theirs := spec
		theirs.Key, theirs.Owner = "their "+key, "somebody"
		for _, s := range []sdk.MachineSpec{spec, theirs} {
			if _, err := b.cloud.Create(context.Background(), s, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := machine.GCOptions{Also: []string{"cloud"}}
	report, err := b.driver.GC(context.Background(), all)
	if err != nil || len(report.Unrecorded) != 3 || len(report.Cleaned)+len(report.Failed) != 0 {
		t.Fatalf("report %+v, %v", report, err)
	}
	var whys []string
	for _, i := range report.Unrecorded {
		whys = append(whys, strings.TrimPrefix(i.Why, "the ledger has no record of it; "))
	}
	slices.Sort(whys)
	if want := []string{"its own lease ends it", "its own lease ends it at 04:04", "its own lease ends it at 2030-01-04 03:04"}; !slices.Equal(whys, want) {
		t.Errorf("got %q", whys)
	}
	b.clock.Advance(time.Hour + time.Minute) // the clocks of two computers differ
	if report, err = b.driver.GC(context.Background(), all); err != nil || len(report.Cleaned) != 0 {
		t.Errorf("report %+v, %v", report, err)
	}
	b.clock.Advance(2 * time.Minute)
	if report, err = b.driver.GC(context.Background(), all); err != nil || len(report.Cleaned) != 1 || report.Cleaned[0].Why != "its time ended at 04:04, and nobody knows it" {
		t.Errorf("report %+v, %v", report, err)
	}
	b.clock.Advance(100 * time.Hour)
	if report, err = b.driver.GC(context.Background(), all); err != nil || len(report.Cleaned) != 1 || len(report.Unrecorded) != 1 {
		t.Errorf("report %+v, %v", report, err)
	}
	if live := b.cloud.Live(); len(live) != 4 {
		t.Errorf("machines %+v", live)
	}
}

// strangers lists machines of other owners too, as a provider with a defect may.
type strangers struct{ *enginetest.Provider }

func (s strangers) List(ctx context.Context, _ string) ([]sdk.Listed, error) {
	return s.Provider.List(ctx, "somebody")
}

func TestGCNeverTouchesMachinesOfOthers(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	if _, err := b.cloud.Create(context.Background(), sdk.MachineSpec{Key: "theirs", Owner: "somebody", EndUnix: 1}, nil); err != nil {
		t.Fatal(err)
	}
	b.driver.Providers = func(context.Context, string) (sdk.Provider, error) { return strangers{b.cloud}, nil }
	report, err := b.driver.GC(context.Background(), machine.GCOptions{Also: []string{"cloud"}})
	if err != nil || len(report.Cleaned)+len(report.Unrecorded) != 0 || len(b.cloud.Live()) != 1 {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestGCOfOneProvider(t *testing.T) {
	m := newMarket(t, enginetest.Script{}, enginetest.Script{})
	for i, c := range choices() {
		if _, err := m.rent(context.Background(), func(r *machine.Record) { r.Name = fmt.Sprint("n", i) }, c); err != nil {
			t.Fatal(err)
		}
	}
	m.clock.Advance(3 * time.Hour)
	report, err := m.driver.GC(context.Background(), machine.GCOptions{Only: []string{"other"}, Also: []string{"cloud"}})
	if err != nil || len(report.Ended) != 1 || report.Ended[0].Provider != "other" || len(m.cloud.Live()) != 1 || len(m.other.Live()) != 0 {
		t.Errorf("report %+v, %v", report, err)
	}
	if n := m.cloud.Calls(enginetest.OpList); n != 0 {
		t.Errorf("the other provider was asked %d times", n)
	}
	// One that the ledger has never heard of can be named.
	if report, err = m.driver.GC(context.Background(), machine.GCOptions{Only: []string{"uninstalled"}}); err != nil || len(report.Failed) != 1 {
		t.Errorf("report %+v, %v", report, err)
	}
	m.gc()
	m.nothingLeft()
}

// A provider that refuses is said once, and the others are dealt with.
func TestGCGoesOnWithoutAProviderThatCannotBeAsked(t *testing.T) {
	m := newMarket(t, enginetest.Script{}, enginetest.Script{})
	for i, c := range append(choices(), choices()...) {
		if _, err := m.rent(context.Background(), func(r *machine.Record) { r.Name = fmt.Sprint("n", i) }, c); err != nil {
			t.Fatal(err)
		}
	}
	m.clock.Advance(3 * time.Hour)
	m.cloud.SetScript(enginetest.Script{Before: func(enginetest.Call) error { return sdk.Errorf(sdk.Unauthorized, "no key is set") }})
	report := m.gc()
	if len(report.Ended) != 2 || len(report.Failed) != 1 || report.Failed[0].Provider != "cloud" || !strings.Contains(report.Failed[0].Why, "no key is set") {
		t.Errorf("report %+v", report)
	}
	m.cloud.SetScript(enginetest.Script{})
	if report = m.gc(); len(report.Ended) != 2 || len(report.Failed) != 0 {
		t.Errorf("report %+v", report)
	}
	m.nothingLeft()
	// Providers that have nothing of ours are not asked.
	b := newBench(t, enginetest.Script{})
	if b.gc(); b.cloud.Calls(enginetest.OpList) != 0 {
		t.Error("a provider without records was asked")
	}
}

// What could not be ended is ended by the next gc, not only when its lease is over.
func TestGCTriesAgainWhatCouldNotBeEnded(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r, err := b.start(context.Background(), "sticky")
	if err != nil {
		t.Fatal(err)
	}
	b.cloud.SetScript(enginetest.Script{Before: failAt(enginetest.OpTerminate, 0, sdk.Unavailable, "down")})
	if _, err := b.driver.End(context.Background(), r, "ended by the user"); err == nil {
		t.Fatal("it was ended")
	}
	b.cloud.SetScript(enginetest.Script{})
	if _, err := b.driver.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if report := b.gc(); len(report.Ended) != 1 || report.Ended[0].Why != "ended by the user" {
		t.Errorf("report %+v", report)
	}
	if r, _ = b.ledger.Get(r.ID); r.Message != "ended by the user" || r.Ending != "" {
		t.Errorf("it says %q, %q", r.Message, r.Ending)
	}
	b.nothingLeft()
}

// Also where the provider had been taken away for a while.
func TestGCEndsWhatHadNoProvider(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r, err := b.start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	find := b.driver.Providers
	b.driver.Providers = func(context.Context, string) (sdk.Provider, error) { return nil, errors.New("not installed") }
	var left *machine.LeftoverError
	if _, err := b.driver.End(context.Background(), r, ""); !errors.As(err, &left) || !strings.Contains(err.Error(), "not installed") {
		t.Fatalf("error %v", err)
	}
	if report := b.gc(); len(report.Failed) != 1 || report.Failed[0].Provider != "cloud" {
		t.Errorf("report %+v", report)
	}
	b.driver.Providers = find
	if report := b.gc(); len(report.Ended) != 1 {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
}

// A down that was given up in the middle is finished by gc.
func TestGCFinishesAnEndThatWasCancelled(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	r, err := b.start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
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

// A record as it was written before there were choices.
func TestRecordOfAnOlderEngine(t *testing.T) {
	b := newBench(t, enginetest.Script{CostPerHour: 1})
	step, err := b.cloud.Create(context.Background(), sdk.MachineSpec{Key: "seer-old", Owner: b.ledger.Owner(), Port: 7070}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := b.clock.Now().Format(time.RFC3339)
	old := `{"version": 1, "id": "sb-aaaaaaaaaa", "owner": "` + b.ledger.Owner() + `", "key": "seer-old", "provider": "cloud", "handle": "` + step.Handle + `",
		"state": "running", "created_at": "` + now + `", "updated_at": "` + now + `", "ready_at": "` + now + `", "port": 7070, "cost_per_hour": 1,
		"lease": {"kind": "detached", "ttl_seconds": 3600, "heartbeat": "` + now + `", "end": "` + b.clock.Now().Add(time.Hour).Format(time.RFC3339) + `"}}`
	if err := os.WriteFile(filepath.Join(b.dir, "sb-aaaaaaaaaa.json"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(30 * time.Minute)
	if report := b.gc(); len(report.Ended)+len(report.Failed) != 0 {
		t.Errorf("report %+v", report)
	}
	r, err := b.ledger.Resolve("sb-a")
	if err != nil || r.Cost(b.clock.Now()) != 0.5 {
		t.Errorf("it has cost %v, %v", r.Cost(b.clock.Now()), err)
	}
	b.clock.Advance(time.Hour)
	if report := b.gc(); len(report.Ended) != 1 {
		t.Errorf("report %+v", report)
	}
	b.nothingLeft()
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
