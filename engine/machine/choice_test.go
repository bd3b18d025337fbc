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

// market is an engine with two clouds: "cloud" is the first choice, "other" the
// second.
type market struct {
	*bench
	other *enginetest.Provider
	stuck bool // nothing can be ended; see watch
	from  []machine.Choice
}

func newMarket(t *testing.T, first, second enginetest.Script) *market {
	t.Helper()
	clock := enginetest.NewClock()
	return newMarketAt(t, t.TempDir(), clock, enginetest.NewProvider("cloud", clock, first), enginetest.NewProvider("other", clock, second))
}

func newMarketAt(t *testing.T, dir string, clock *enginetest.Clock, cloud, other *enginetest.Provider) *market {
	t.Helper()
	m := &market{bench: newBenchAt(t, dir, clock, cloud), other: other}
	m.driver.Providers = m.provider
	return m
}

func (m *market) provider(ctx context.Context, name string) (sdk.Provider, error) {
	if name == "other" {
		return m.other, nil
	}
	return m.bench.provider(ctx, name)
}

func choices() []machine.Choice {
	spec := sdk.MachineSpec{Command: []string{"true"}, Port: 7070, TimeoutSeconds: 7200, GPU: "H100-SXM", GPUCount: 2, Offer: "h"}
	cheap := machine.Choice{Provider: "cloud", Spec: spec, GPU: "H100-SXM", CostPerHour: 2}
	spec.GPU, spec.Offer, spec.TimeoutSeconds = "A100-80GB", "a", 3600
	dear := machine.Choice{Provider: "other", Spec: spec, GPU: "A100-80GB", Region: "eu", CostPerHour: 3, Isolation: "strong"}
	return []machine.Choice{cheap, dear}
}

// rent starts a sandbox on the first choice that works.
func (m *market) rent(ctx context.Context, change func(*machine.Record), from ...machine.Choice) (machine.Record, error) {
	r := machine.NewRecord()
	r.Name, r.AdminToken = "x", "secret"
	r.Lease = machine.NewLease(machine.Detached, 2*time.Hour, m.clock.Now())
	if change != nil {
		change(&r)
	}
	if from == nil {
		from = choices()
	}
	return m.driver.Start(ctx, r, from, func(e machine.Event) { m.events = append(m.events, e) })
}

func (m *market) live() []enginetest.Machine { return append(m.cloud.Live(), m.other.Live()...) }

// allKnown checks that each machine which costs money is in the ledger.
func (m *market) allKnown() {
	m.t.Helper()
	all, err := m.ledger.List()
	if err != nil {
		m.t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range all {
		known[r.Key] = true
	}
	for _, one := range m.live() {
		if !known[one.Key] {
			m.t.Errorf("nobody knows the machine %s", one.Handle)
		}
	}
}

func (m *market) nothingLeft() {
	m.t.Helper()
	m.bench.nothingLeft()
	if live := m.other.Live(); len(live) != 0 {
		m.t.Errorf("machines are left: %+v", live)
	}
}

func TestNoCapacityGoesOnToTheNextChoice(t *testing.T) {
	m := newMarket(t, enginetest.Script{Sold: []string{"h"}}, enginetest.Script{CostPerHour: 3})
	began := m.clock.Now()
	var first string
	r, err := m.rent(context.Background(), func(r *machine.Record) { first = r.Key })
	if err != nil {
		t.Fatal(err)
	}
	if r.Provider != "other" || r.GPU != "A100-80GB" || r.GPUCount != 2 || r.Offer != "a" || r.Region != "eu" || r.Isolation != "strong" || r.CostPerHour != 3 {
		t.Errorf("the record is %+v", r)
	}
	if r.Key == first || len(r.Attempts) != 1 || r.Attempts[0].Key != first || r.Attempts[0].Provider != "cloud" || r.Attempts[0].Why != "no H100-SXM is free" {
		t.Errorf("key %s, attempts %+v", r.Key, r.Attempts)
	}
	if want := began.Add(time.Hour); !r.HardEnd.Equal(want) {
		t.Errorf("the hard end is %s, not %s", r.HardEnd, want)
	}
	if spec := m.other.Live()[0].Spec; spec.EndUnix != r.HardEnd.Unix() || spec.Key != r.Key || spec.Owner != m.ledger.Owner() {
		t.Errorf("it was asked for %+v", spec)
	}
	if got := m.text(machine.EventChoice); got != "cloud 2 × H100-SXM: no H100-SXM is free; trying other 2 × A100-80GB in eu" {
		t.Errorf("the user saw %q", got)
	}
	m.allKnown()
}

func TestPrepareSeesWhatBelongsToTheAttempt(t *testing.T) {
	m := newMarket(t, enginetest.Script{Sold: []string{"h"}}, enginetest.Script{})
	from := choices()
	var keys []string
	for i := range from {
		from[i].Prepare = func(s *sdk.MachineSpec) error {
			keys = append(keys, s.Key)
			s.Env = map[string]string{"KEY": s.Key}
			if s.EndUnix == 0 || s.Owner == "" {
				t.Errorf("it is given %+v", s)
			}
			return nil
		}
	}
	if _, err := m.rent(context.Background(), nil, from...); err != nil {
		t.Fatal(err)
	}
	if spec := m.other.Live()[0].Spec; len(keys) != 2 || keys[0] == keys[1] || spec.Env["KEY"] != keys[1] {
		t.Errorf("keys %q, env %v", keys, spec.Env)
	}
	from[0].Prepare = func(*sdk.MachineSpec) error { return errors.New("no interpreter") }
	if _, err := m.rent(context.Background(), func(r *machine.Record) { r.Name = "y" }, from...); err == nil || !strings.Contains(err.Error(), "no interpreter") {
		t.Errorf("error %v", err)
	}
}

func TestNothingFreeAnywhereTellsEachReason(t *testing.T) {
	m := newMarket(t, enginetest.Script{Sold: []string{"H100"}}, enginetest.Script{Sold: []string{"a"}})
	r, err := m.rent(context.Background(), nil)
	want := "no machine could be had: cloud 2 × H100-SXM: no H100-SXM is free; other 2 × A100-80GB in eu: no A100-80GB is free"
	var all *machine.ChoicesError
	if !errors.As(err, &all) || len(all.Attempts) != 2 || err.Error() != want || sdk.CodeOf(err) != sdk.NoCapacity {
		t.Errorf("%v, code %s", err, sdk.CodeOf(err))
	}
	if r.State != sdk.Failed || r.Message != want {
		t.Errorf("the record says %s %q", r.State, r.Message)
	}
	m.nothingLeft()
}

func TestOnlyMissingCapacityGoesOn(t *testing.T) {
	m := newMarket(t, enginetest.Script{Before: failAt(enginetest.OpCreate, 1, sdk.Unauthorized, "no such token")}, enginetest.Script{})
	_, err := m.rent(context.Background(), nil)
	if err == nil || err.Error() != "cloud 2 × H100-SXM: no such token" || m.other.Calls(enginetest.OpCreate) != 0 {
		t.Errorf("error %v, %d calls of the other", err, m.other.Calls(enginetest.OpCreate))
	}
	m.nothingLeft()
}

func TestWaitingForCapacityIsBoundedWhileThereIsAChoice(t *testing.T) {
	m := newMarket(t, enginetest.Script{Queue: 24 * time.Hour}, enginetest.Script{Queue: 20 * time.Minute})
	began := m.clock.Now()
	r, err := m.rent(context.Background(), nil)
	if err != nil || r.Provider != "other" {
		t.Fatalf("%+v, %v", r, err)
	}
	if waited := m.clock.Now().Sub(began); waited < 25*time.Minute || waited > 26*time.Minute {
		t.Errorf("it took %s", waited)
	}
	if got := m.text(machine.EventChoice); !strings.Contains(got, "nothing was free within 5m0s; trying other") {
		t.Errorf("the user saw %q", got)
	}
	if live := m.cloud.Live(); len(live) != 0 {
		t.Errorf("the machine in the queue was left: %+v", live)
	}
	m.allKnown()
}

func TestMakingAnImageIsNotWaiting(t *testing.T) {
	m := newMarket(t, enginetest.Script{Queue: 4 * time.Minute, Build: 15 * time.Minute, Boot: 6 * time.Minute}, enginetest.Script{})
	if r, err := m.rent(context.Background(), nil); err != nil || r.Provider != "cloud" {
		t.Errorf("%+v, %v", r, err)
	}
	m = newMarket(t, enginetest.Script{Steps: 20, StepDelay: time.Minute}, enginetest.Script{})
	if r, err := m.rent(context.Background(), nil); err != nil || r.Provider != "cloud" {
		t.Errorf("%+v, %v", r, err)
	}
}

// The first choice takes most of the time with its image, and then has no capacity.
func TestAllChoicesShareTheTimeOfTheStart(t *testing.T) {
	m := newMarket(t, enginetest.Script{Steps: 28, StepDelay: time.Minute, CostPerHour: 9}, enginetest.Script{Boot: 3 * time.Minute})
	if _, err := m.rent(context.Background(), dearest); err == nil || !strings.Contains(err.Error(), "not ready within 30m") {
		t.Errorf("error %v", err)
	}
	m.nothingLeft()
}

func TestDearerThanOffered(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		price      float64
		change     func(*machine.Record)
	}{
		{"nobody minds", "cloud", 20, nil},
		{"with a limit", "other", 2.2, func(r *machine.Record) { r.MaxPrice = 100 }},
		{"with a budget", "other", 2.2, func(r *machine.Record) { r.Budget = 100 }},
		{"nearly the same", "cloud", 2.09, func(r *machine.Record) { r.MaxPrice, r.Budget = 2, 4 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMarket(t, enginetest.Script{CostPerHour: tc.price, Boot: time.Minute}, enginetest.Script{CostPerHour: 3})
			r, err := m.rent(context.Background(), tc.change)
			if err != nil || r.Provider != tc.want {
				t.Errorf("%s, %v", r.Provider, err)
			}
			if tc.want == "other" && !strings.Contains(m.text(machine.EventChoice), "it costs $2.20 an hour, not $2.00 as offered") {
				t.Errorf("the user saw %q", m.text(machine.EventChoice))
			}
			if len(m.live()) != 1 {
				t.Errorf("machines %+v", m.live())
			}
		})
	}
}

// A machine may cost a little more than its offer; then it ends a little earlier.
func TestBudgetAtTheRealPrice(t *testing.T) {
	m := newMarket(t, enginetest.Script{CostPerHour: 2.05}, enginetest.Script{})
	began := m.clock.Now()
	r, err := m.rent(context.Background(), func(r *machine.Record) { r.Budget = 4 })
	if err != nil {
		t.Fatal(err)
	}
	if cost := r.Cost(r.HardEnd); cost > 4 || cost < 3.999 || r.HardEnd.After(began.Add(2*time.Hour)) {
		t.Errorf("until %s it costs $%.4f", r.HardEnd, cost)
	}
}

func TestAChoiceThatCannotBeEndedIsTheLast(t *testing.T) {
	m := newMarket(t, enginetest.Script{Queue: 24 * time.Hour, Before: failAt(enginetest.OpTerminate, 0, sdk.Internal, "boom")}, enginetest.Script{})
	r, err := m.rent(context.Background(), nil)
	var left *machine.LeftoverError
	if !errors.As(err, &left) || m.other.Calls(enginetest.OpCreate) != 0 {
		t.Fatalf("error %v", err)
	}
	if r, _ = m.ledger.Get(r.ID); r.Released || r.Provider != "cloud" || r.Ending == "" || !strings.Contains(r.Message, "could not be ended: boom") {
		t.Errorf("the record says %+v", r)
	}
	m.allKnown()
	m.cloud.SetScript(enginetest.Script{})
	if report := m.gc(); len(report.Ended) != 1 || len(report.Failed) != 0 {
		t.Errorf("report %+v", report)
	}
	m.nothingLeft()
}

// A machine that a provider has rented although it said that it had none.
func TestGCEndsAMachineOfAChoiceThatWasGivenUp(t *testing.T) {
	m := newMarket(t, enginetest.Script{Sold: []string{"h"}}, enginetest.Script{})
	r, err := m.rent(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.cloud.SetScript(enginetest.Script{})
	if _, err := m.cloud.Create(context.Background(), sdk.MachineSpec{Key: r.Attempts[0].Key, Owner: m.ledger.Owner()}, nil); err != nil {
		t.Fatal(err)
	}
	if report := m.gc(); len(report.Cleaned) != 1 || report.Cleaned[0].ID != r.ID || len(report.Ended) != 0 {
		t.Errorf("report %+v", report)
	}
	if live := m.live(); len(live) != 1 || live[0].Handle != r.Handle {
		t.Errorf("machines %+v", live)
	}
}

func TestMissingProviderIsFoundFirst(t *testing.T) {
	m := newMarket(t, enginetest.Script{}, enginetest.Script{})
	from := choices()
	from[1].Provider = "uninstalled"
	if _, err := m.rent(context.Background(), nil, from...); err == nil || !strings.Contains(err.Error(), `the provider "uninstalled"`) {
		t.Errorf("error %v", err)
	}
	if all, _ := m.ledger.List(); len(all) != 0 || len(m.live()) != 0 {
		t.Errorf("it began nevertheless: %+v, %+v", all, m.live())
	}
	if _, err := m.driver.Start(context.Background(), machine.NewRecord(), nil, nil); sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("nothing to choose: %v", err)
	}
}

// looks is how often the driver looks at a machine that boots for so long.
func looks(t *testing.T, boot time.Duration, from []machine.Choice) int {
	t.Helper()
	m := newMarket(t, enginetest.Script{Boot: boot}, enginetest.Script{})
	if _, err := m.rent(context.Background(), nil, from...); err != nil {
		t.Fatal(err)
	}
	return m.cloud.Calls(enginetest.OpObserve)
}

func TestPollIsAsSlowAsTheProviderWants(t *testing.T) {
	from := choices()
	from[0].Poll = 10 * time.Second
	if n := looks(t, 5*time.Minute, from); n != 31 {
		t.Errorf("it looked %d times in 5 minutes", n)
	}
}

func TestPollIsAsFastAsTheChoiceWants(t *testing.T) {
	from := choices()
	from[0].LongestPoll = 10 * time.Millisecond
	if n := looks(t, 10*time.Second, from); n < 1000 {
		t.Errorf("it looked %d times in 10 seconds", n)
	}
}

// TestOptionalPorts: what listens at a port is reached through the runtime too, so a provider
// without ports makes the machine all the same, unless the user has asked for one.
func TestOptionalPorts(t *testing.T) {
	for _, c := range []struct {
		name  string
		none  bool
		asked []int
		want  string // ports of the machine; empty = none is made
	}{
		{"a provider with ports", false, []int{9000}, "[9000 8888]"},
		{"one without", true, nil, "[]"},
		{"one without, and a port that was asked for", true, []int{9000}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMarket(t, enginetest.Script{NoPorts: c.none}, enginetest.Script{})
			choice := choices()[0]
			choice.Spec.Ports, choice.OptionalPorts = append(slices.Clone(c.asked), 8888), []int{8888}
			_, err := m.rent(t.Context(), nil, choice)
			live := m.live()
			if c.want == "" {
				if sdk.CodeOf(err) != sdk.Unsupported || len(live) != 0 {
					t.Errorf("%v, %d machines", err, len(live))
				}
				return
			}
			if err != nil || len(live) != 1 || fmt.Sprint(live[0].Spec.Ports) != c.want {
				t.Fatalf("%v, machines %+v", err, live)
			}
			told := slices.ContainsFunc(m.events, func(e machine.Event) bool {
				return e.Kind == machine.EventUnexposed && strings.Contains(e.Text, "forward 8888") && e.Remedies[0].Port == "8888"
			})
			if told != c.none {
				t.Errorf("events %+v", m.events)
			}
		})
	}
}
