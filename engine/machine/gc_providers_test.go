package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

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
	r := b.mustStart("sticky")
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
	r := b.mustStart("")
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

// silentHost is a provider with a host that does not answer.
type silentHost struct{ sdk.Provider }

func (p silentHost) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	all, err := p.Provider.List(ctx, owner)
	return append(all, sdk.Listed{Handle: "away/", Owner: owner, State: sdk.Unreachable, Message: "the host away does not answer"}), err
}

// A host that does not answer is named, and what the others have is cleaned. A start that died may
// have its machine there, so its record stays.
func TestGCWhileAHostIsAway(t *testing.T) {
	b := newBench(t, enginetest.Script{})
	spec := sdk.MachineSpec{Key: "old", Owner: b.ledger.Owner(), EndUnix: b.clock.Now().Add(time.Minute).Unix()}
	if _, err := b.cloud.Create(context.Background(), spec, nil); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour)
	driver := machine.NewDriver(machine.Options{Ledger: b.ledger, Clock: b.clock, Providers: func(context.Context, string) (sdk.Provider, error) { return silentHost{b.cloud}, nil }})
	report, err := driver.GC(context.Background(), machine.GCOptions{Also: []string{"cloud"}})
	if err != nil || len(report.Cleaned) != 1 || len(report.Failed) != 1 || !strings.Contains(report.Failed[0].Why, "the host away does not answer") {
		t.Fatalf("report %+v, %v", report, err)
	}
	r := machine.NewRecord()
	r.Provider, r.Key = "cloud", "seer-none"
	if _, err := driver.End(context.Background(), r, "ended"); err == nil || !strings.Contains(err.Error(), "the host away does not answer") {
		t.Errorf("%v", err)
	}
}
