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

// rent starts a machine with a short life, as a budget or a timeout makes it.
func (b *bench) rent(life time.Duration, change func(*machine.Record)) (machine.Record, error) {
	r := machine.NewRecord()
	r.Lease = machine.NewLease(machine.Attached, time.Minute, b.clock.Now())
	if change != nil {
		change(&r)
	}
	spec := sdk.MachineSpec{Command: []string{"true"}, Port: 7070, TimeoutSeconds: int64(life.Seconds())}
	return b.driver.Start(context.Background(), r, []machine.Choice{{Provider: "cloud", Spec: spec, CostPerHour: 2}}, nil)
}

// TestTimeIsOverBeforeItRuns: a machine that is still pulling its image when its
// time is over has nothing on it that could end it.
func TestTimeIsOverBeforeItRuns(t *testing.T) {
	b := newBench(t, enginetest.Script{Boot: 20 * time.Minute, CostPerHour: 2})
	began := b.clock.Now()
	_, err := b.rent(2*time.Minute, nil)
	if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the error is %v", err)
	}
	if took := b.clock.Now().Sub(began); took > 3*time.Minute {
		t.Errorf("a machine for two minutes was paid for %s", took)
	}
	b.nothingLeft()
}

// TestPriceIsNotForgotten: a provider that does not know what a machine costs does
// not make it free.
func TestPriceIsNotForgotten(t *testing.T) {
	b := newBench(t, enginetest.Script{CostPerHour: 0})
	r, err := b.rent(2*time.Hour, func(r *machine.Record) { r.Budget = 1 })
	if err != nil {
		t.Fatal(err)
	}
	if want := r.RentedAt.Add(30 * time.Minute); r.CostPerHour != 2 || !r.HardEnd.Equal(want) {
		t.Errorf("it costs %v an hour and ends at %s, not at %s", r.CostPerHour, r.HardEnd, want)
	}
	b.clock.Advance(time.Minute)
	if all, err := b.driver.Refresh(context.Background()); err != nil || all[0].CostPerHour != 2 {
		t.Errorf("after a look: %+v, %v", all, err)
	}
}

// TestKnownMachineIsEndedFirst: a list that fails for as long as there is time to end
// the machine does not keep it alive.
func TestKnownMachineIsEndedFirst(t *testing.T) {
	var b *bench
	b = newBench(t, enginetest.Script{Boot: time.Hour, Before: func(c enginetest.Call) error {
		if c.Op != enginetest.OpList {
			return nil
		}
		if b.cloud.Calls(enginetest.OpTerminate) == 0 {
			t.Error("the list was asked for before the machine that is known was ended")
		}
		return sdk.Errorf(sdk.Invalid, "the list is out of order")
	}})
	_, err := b.rent(2*time.Minute, nil)
	var leftover *machine.LeftoverError
	if !errors.As(err, &leftover) || len(b.cloud.Live()) != 0 {
		t.Errorf("%v; left: %+v", err, b.cloud.Live())
	}
}

// TestLeaseBeginsWithTheMachine: a start that took longer than the lease lasts is not
// ended by the collector of another program the moment it is done.
func TestLeaseBeginsWithTheMachine(t *testing.T) {
	b := newBench(t, enginetest.Script{Boot: 10 * time.Minute, CostPerHour: 2})
	r, err := b.rent(time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report := b.gc(); len(report.Ended) != 0 || len(b.cloud.Live()) != 1 {
		t.Errorf("a machine that has just started was ended: %+v", report)
	}
	b.clock.Advance(2 * time.Minute)
	if report := b.gc(); len(report.Ended) != 1 || report.Ended[0].ID != r.ID {
		t.Errorf("a machine whose program has died was kept: %+v", report)
	}
	b.nothingLeft()
}

// TestAnotherAccountKnowsNothing: credentials of another account prove nothing about a
// machine, and another key of the same one ends it.
func TestAnotherAccountKnowsNothing(t *testing.T) {
	b := newBench(t, enginetest.Script{CostPerHour: 2})
	account, cloud := "mine", b.cloud
	b.driver = machine.NewDriver(machine.Options{
		Ledger: b.ledger, Clock: b.clock, Providers: b.provider, Account: func(context.Context, string) (string, error) { return account, nil },
	})
	r, err := b.rent(time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	account, b.cloud = "another", enginetest.NewProvider("cloud", b.clock, enginetest.Script{})
	var foreign *machine.AccountError
	if all, err := b.driver.Refresh(t.Context()); !errors.As(err, &foreign) || !all[0].Live() {
		t.Errorf("refresh: %v, %+v", err, all)
	}
	if _, err := b.driver.End(t.Context(), r, "asked to"); !errors.As(err, &foreign) {
		t.Errorf("end: %v", err)
	}
	if report := b.gc(); len(report.Ended)+len(report.Cleaned) != 0 || len(report.Failed) == 0 {
		t.Errorf("gc: %+v", report)
	}
	if r, err = b.ledger.Get(r.ID); err != nil || !r.Live() || len(cloud.Live()) != 1 {
		t.Errorf("the ledger has %+v, %v", r, err)
	}

	account, b.cloud = "mine with a new key", cloud
	if _, err := b.driver.End(t.Context(), r, "asked to"); err != nil {
		t.Errorf("end with a new key: %v", err)
	}
	b.nothingLeft()
}

// TestRotatedKey: a machine that ends itself when it is asked to has ended, also where the
// credential has been replaced since it was rented and its provider forgets it at once.
func TestRotatedKey(t *testing.T) {
	b := newBench(t, enginetest.Script{CostPerHour: 2})
	account := "old key"
	b.driver.Account = func(context.Context, string) (string, error) { return account, nil }
	r, err := b.rent(time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	account = "new key"
	r = b.driver.Recognize(t.Context(), r)
	b.cloud.Stop(r.Handle, sdk.Stopped)
	if _, err := b.driver.End(t.Context(), r, "asked to"); err != nil {
		t.Errorf("end: %v", err)
	}
	b.nothingLeft()
}

// TestAccountCannotBeAsked: a machine is not taken for ended while nobody can tell whose
// machines are shown.
func TestAccountCannotBeAsked(t *testing.T) {
	b := newBench(t, enginetest.Script{CostPerHour: 2})
	var fails error
	b.driver.Account = func(context.Context, string) (string, error) { return "id:mine", fails }
	r, err := b.rent(time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	cloud := b.cloud
	b.cloud = enginetest.NewProvider("cloud", b.clock, enginetest.Script{})
	fails = sdk.Errorf(sdk.Unavailable, "it does not answer")
	if all, err := b.driver.Refresh(t.Context()); err == nil || !all[0].Live() {
		t.Errorf("refresh: %v, %+v", err, all)
	}
	if _, err := b.driver.End(t.Context(), r, "asked to"); err == nil {
		t.Error("it counts as ended")
	}
	b.cloud, fails = cloud, nil
	if _, err := b.driver.End(t.Context(), r, "asked to"); err != nil {
		t.Error(err)
	}
	b.nothingLeft()
}

// TestAnotherAccountIsNotAskedForEver: a machine whose time is over has ended itself.
func TestAnotherAccountIsNotAskedForEver(t *testing.T) {
	b := newBench(t, enginetest.Script{CostPerHour: 2})
	account := "mine"
	b.driver = machine.NewDriver(machine.Options{
		Ledger: b.ledger, Clock: b.clock, Providers: b.provider, Account: func(context.Context, string) (string, error) { return account, nil },
	})
	if _, err := b.rent(time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	account, b.cloud = "another", enginetest.NewProvider("cloud", b.clock, enginetest.Script{})
	b.clock.Advance(2 * time.Hour)
	if report := b.gc(); len(report.Failed) != 0 {
		t.Errorf("gc: %+v", report)
	}
	b.nothingLeft()
}

// TestCancelledStepComesToItsEnd: a request that was made is not given up while the
// cloud works on it, for what it rents then would be found only later.
func TestCancelledStepComesToItsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(t, enginetest.Script{Before: func(c enginetest.Call) error {
		if c.Op == enginetest.OpCreate {
			cancel()
		}
		return nil
	}})
	b.driver = machine.NewDriver(machine.Options{Ledger: b.ledger, Clock: b.clock, Providers: func(context.Context, string) (sdk.Provider, error) {
		return late{b.cloud}, nil
	}, Late: func(string) time.Duration { return 90 * time.Second }})
	if _, err := b.start(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if b.cloud.Calls(enginetest.OpTerminate) == 0 {
		t.Error("nothing was ended")
	}
	b.nothingLeft() // and nobody looks for the machine again, as its handle is known
}

// late is a cloud whose list does not show new machines yet.
type late struct{ *enginetest.Provider }

func (late) List(context.Context, string) ([]sdk.Listed, error) { return nil, nil }

// TestOverdue: a machine that could not end itself is ended by whatever looks next. One whose
// time is not over is left alone, and nobody is asked about it.
func TestOverdue(t *testing.T) {
	b := newBench(t, enginetest.Script{CostPerHour: 2})
	r, err := b.rent(time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	every := func(string) bool { return true }
	calls := b.cloud.Calls(enginetest.OpTerminate) + b.cloud.Calls(enginetest.OpList) + b.cloud.Calls(enginetest.OpObserve)
	if ended, err := b.driver.EndOverdue(t.Context(), every); err != nil || len(ended) != 0 || r.Overdue(b.clock.Now()) {
		t.Errorf("ended %v, %v", ended, err)
	}
	if now := b.cloud.Calls(enginetest.OpTerminate) + b.cloud.Calls(enginetest.OpList) + b.cloud.Calls(enginetest.OpObserve); now != calls {
		t.Error("the provider was asked")
	}
	b.clock.Advance(63 * time.Minute)
	if !r.Overdue(b.clock.Now()) {
		t.Error("it is not overdue")
	}
	if ended, err := b.driver.EndOverdue(t.Context(), func(string) bool { return false }); err != nil || len(ended) != 0 {
		t.Errorf("of other providers: %v, %v", ended, err)
	}
	if ended, err := b.driver.EndOverdue(t.Context(), every); err != nil || len(ended) != 1 || ended[0].ID != r.ID {
		t.Errorf("ended %v, %v", ended, err)
	}
	b.nothingLeft()
}
