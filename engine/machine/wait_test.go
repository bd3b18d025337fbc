package machine_test

import (
	"context"
	"encoding/json"
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

// scarce has no capacity for the first calls.
type scarce struct {
	*enginetest.Provider
	refuse int
	keys   []string
	ends   []int64
}

func (p *scarce) Create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	p.keys, p.ends = append(p.keys, spec.Key), append(p.ends, spec.EndUnix)
	if len(p.keys) <= p.refuse {
		return sdk.CreateStep{}, sdk.Errorf(sdk.NoCapacity, "all are taken")
	}
	return p.Provider.Create(ctx, spec, cursor)
}

// queued is scarce, and has its machines wait in turn.
type queued struct {
	*scarce
	fail         error
	asked, left  int
	hours        time.Duration // that a turn takes
	clock        *enginetest.Clock
	stands       bool // its turn never comes
	whenStanding func()
}

func (p *queued) Queue(_ context.Context, spec sdk.MachineSpec) (func(context.Context, func(string)) error, func(), error) {
	p.asked++
	if spec.EndUnix != 0 {
		return nil, nil, errors.New("a wait is no part of the machine's time")
	}
	wait := func(ctx context.Context, tell func(string)) error {
		tell("place 1")
		if p.stands {
			p.whenStanding()
			<-ctx.Done()
			return ctx.Err()
		}
		p.clock.Advance(p.hours)
		return p.fail
	}
	return wait, func() { p.left++ }, nil
}

// stillClock sleeps until its context ends, so that only turns come.
type stillClock struct{ *enginetest.Clock }

func (c stillClock) Sleep(ctx context.Context, d time.Duration) error {
	if d < time.Minute {
		return c.Clock.Sleep(ctx, d)
	}
	<-ctx.Done()
	return ctx.Err()
}

func (b *bench) wait(ctx context.Context, p sdk.Provider, most time.Duration) (machine.Record, error) {
	b.driver.Providers = func(context.Context, string) (sdk.Provider, error) { return p, nil }
	r := machine.NewRecord()
	r.AdminToken, r.Lease = "secret", machine.NewLease(machine.Detached, time.Hour, b.clock.Now())
	spec := sdk.MachineSpec{Command: []string{"true"}, Port: 7070, TimeoutSeconds: 60}
	return b.driver.Start(ctx, r, []machine.Choice{{Provider: "cloud", Spec: spec, MaxWait: most}}, func(e machine.Event) { b.events = append(b.events, e) })
}

func (b *bench) texts() (all []string) {
	for _, e := range b.events {
		all = append(all, e.Text)
	}
	return all
}

// A cloud is asked again until something is free.
func TestWaitForACloud(t *testing.T) {
	t.Parallel()
	b := newBench(t, enginetest.Script{})
	p := &scarce{Provider: b.cloud, refuse: 3}
	began := b.clock.Now()
	r, err := b.wait(t.Context(), p, time.Hour)
	if err != nil || r.State != sdk.Running || len(p.keys) != 4 {
		t.Fatal(r, err, p.keys)
	}
	if slices.Sort(p.keys); len(slices.Compact(p.keys)) != 4 {
		t.Errorf("a key was used twice: %v", p.keys)
	}
	if waited := time.Unix(p.ends[3], 0).Sub(began); waited < 150*time.Second { // three times thirty seconds, and its minute
		t.Errorf("the wait was a part of the machine's time: it ends after %s", waited)
	}
	if got := strings.Join(b.texts(), "; "); strings.Count(got, "waiting: all are taken") != 3 {
		t.Error(got)
	}
	// Not for longer than is allowed.
	b = newBench(t, enginetest.Script{})
	p = &scarce{Provider: b.cloud, refuse: 1000}
	_, err = b.wait(t.Context(), p, 10*time.Minute)
	if sdk.CodeOf(err) != sdk.NoCapacity || !strings.HasPrefix(err.Error(), "nothing was free within 10m0s: all are taken") || len(p.keys) != 21 {
		t.Error(len(p.keys), err)
	}
	b.nothingLeft()
	// Without a wait, once.
	b = newBench(t, enginetest.Script{})
	p = &scarce{Provider: b.cloud, refuse: 1000}
	if _, err = b.wait(t.Context(), p, 0); sdk.CodeOf(err) != sdk.NoCapacity || len(p.keys) != 1 {
		t.Error(len(p.keys), err)
	}
}

// A provider with a queue says when it is the turn of a start.
func TestWaitInAQueue(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refuse int
		fail   error
		want   string // in the error
	}{
		"at once":          {refuse: 1},
		"somebody faster":  {refuse: 3},
		"the queue breaks": {refuse: 1000, fail: fmt.Errorf("nvidia-smi fails"), want: "nvidia-smi fails"},
	} {
		b := newBench(t, enginetest.Script{})
		b.driver.Clock = stillClock{b.clock}
		p := &queued{scarce: &scarce{Provider: b.cloud, refuse: tc.refuse}, fail: tc.fail, hours: 5 * time.Hour, clock: b.clock}
		r, err := b.wait(t.Context(), p, 1000*time.Hour)
		if tc.want == "" && (err != nil || r.State != sdk.Running) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if p.asked != 1 || p.left != 1 || !slices.Contains(b.texts(), "place 1") {
			t.Errorf("%s: took %d places, left %d: %q", name, p.asked, p.left, b.texts())
		}
	}
}

// Who cancels a wait leaves the queue.
func TestCancelledWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, enginetest.Script{})
	b.driver.Clock = stillClock{b.clock}
	ctx, cancel := context.WithCancel(t.Context())
	p := &queued{scarce: &scarce{Provider: b.cloud, refuse: 1000}, clock: b.clock, stands: true, whenStanding: cancel}
	if _, err := b.wait(ctx, p, 1000*time.Hour); !errors.Is(err, context.Canceled) || p.left != 1 {
		t.Error(p.left, err)
	}
	b.nothingLeft()
}

// unhurried says when the next look at a machine is useful.
type unhurried struct {
	*enginetest.Provider
	looks int
}

func (u *unhurried) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	seen, err := u.Provider.Observe(ctx, handles)
	u.looks++
	for i := range seen {
		seen[i].AfterSeconds = 30
	}
	return seen, err
}

func TestMachineIsNotLookedAtSoonerThanUseful(t *testing.T) {
	b := newBench(t, enginetest.Script{Boot: 5 * time.Minute})
	u := &unhurried{Provider: b.cloud}
	b.driver.Providers = func(context.Context, string) (sdk.Provider, error) { return u, nil }
	b.mustStart("")
	if u.looks < 10 || u.looks > 12 {
		t.Errorf("it was looked at %d times in five minutes", u.looks)
	}
}
