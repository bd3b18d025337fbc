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

// routed is a provider whose machines are reached by routes.
type routed struct {
	*enginetest.Provider
	asked       int
	unreachable string
	alias       string // before the handles of a second list; empty = there is none
	away        string // the handle of a machine whose host does not answer
}

func (p *routed) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	listed, err := p.Provider.List(ctx, owner)
	if p.alias != "" {
		for _, m := range slices.Clone(listed) {
			m.Handle = p.alias + m.Handle
			listed = append(listed, m)
		}
	}
	return listed, err
}

func (p *routed) Terminate(ctx context.Context, handle string) error {
	handle = strings.TrimPrefix(handle, p.alias)
	if handle == p.away {
		return sdk.Errorf(sdk.Unavailable, "its host does not answer")
	}
	return p.Provider.Terminate(ctx, handle)
}

func (p *routed) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	seen, err := p.Provider.Observe(ctx, handles)
	for i := range seen {
		if p.unreachable != "" {
			seen[i] = sdk.Observation{Handle: seen[i].Handle, State: sdk.Unreachable, Message: p.unreachable}
		}
		for n := range seen[i].Endpoints {
			seen[i].Endpoints[n].URL = sdk.RouteURL
		}
	}
	return seen, err
}

func (p *routed) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	info, err := p.Provider.Describe(ctx)
	info.Features = append(slices.Clone(info.Features), sdk.FeatureRoutes)
	return info, err
}

func (p *routed) Route(_ context.Context, handle string, port int) (sdk.Route, error) {
	p.asked++
	return sdk.Route{SSH: &sdk.SSHRoute{Host: handle, Target: fmt.Sprint("tcp:", port)}}, nil
}

// carrier carries ports in memory.
type carrier struct {
	first  int // port of this computer
	err    error
	before func()                          // the ports are carried
	late   error                           // once the ports are carried
	open   map[string][]machine.RoutedPort // by sandbox
}

func (c *carrier) Ensure(_ context.Context, sandbox string, _ time.Time, routes []machine.RoutedPort) (map[int]string, error) {
	if c.err != nil {
		return nil, c.err
	}
	if c.before != nil {
		c.before()
	}
	c.open[sandbox] = routes
	if c.late != nil {
		return nil, c.late
	}
	urls := map[int]string{}
	for _, r := range routes {
		urls[r.Port] = fmt.Sprintf("http://127.0.0.1:%d", c.first+r.Port)
	}
	return urls, nil
}

func (c *carrier) Remove(_ context.Context, sandbox string) error {
	delete(c.open, sandbox)
	return nil
}

func newRouted(t *testing.T) (*bench, *routed, *carrier) {
	t.Helper()
	b := newBench(t, enginetest.Script{Steps: 1})
	p, c := &routed{Provider: b.cloud}, &carrier{first: 10000, open: map[string][]machine.RoutedPort{}}
	b.driver = machine.NewDriver(machine.Options{Ledger: b.ledger, Clock: b.clock, Routes: c,
		Providers: func(context.Context, string) (sdk.Provider, error) { return p, nil }})
	return b, p, c
}

func TestRoutesLeadToThisComputer(t *testing.T) {
	t.Parallel()
	b, p, c := newRouted(t)
	r := b.mustStart("one")
	if url, _ := r.Endpoint(7070); url != "http://127.0.0.1:17070" || len(r.Routes) != 1 || r.Routes[0].Route.SSH.Host != r.Handle || len(c.open[r.ID]) != 1 {
		t.Fatalf("started %+v, carried %+v", r, c.open)
	}
	c.first = 20000 // whatever carries the ports was started anew
	all, err := b.driver.Refresh(t.Context())
	if err != nil || all[0].Endpoints[0].URL != "http://127.0.0.1:27070" {
		t.Errorf("afterwards %+v, %v", all, err)
	}
	if p.asked != 1 {
		t.Errorf("the provider was asked for the way %d times", p.asked)
	}
	if _, err := b.driver.End(t.Context(), all[0], "enough"); err != nil || len(c.open) != 0 {
		t.Errorf("%v; still carried: %+v", err, c.open)
	}
	b.nothingLeft()
}

// TestFailedStartCarriesNothing fails after the ports are carried, and before the record has them.
func TestFailedStartCarriesNothing(t *testing.T) {
	t.Parallel()
	b, _, c := newRouted(t)
	c.late = sdk.Errorf(sdk.Unsupported, "the program that carries ports has no answer")
	if _, err := b.start(t.Context(), "one"); !errors.Is(err, c.late) || len(c.open) != 0 {
		t.Errorf("%v; still carried: %+v", err, c.open)
	}
	b.nothingLeft()
}

// TestKilledStartCarriesNothing ends a machine whose start was killed after the ports were carried, and
// before the record had them.
func TestKilledStartCarriesNothing(t *testing.T) {
	t.Parallel()
	b, _, c := newRouted(t)
	r := b.mustStart("one")
	routes := c.open[r.ID]
	if _, err := b.ledger.Update(t.Context(), r.ID, func(r *machine.Record) error {
		r.Routes = nil
		return nil
	}); err != nil || len(routes) == 0 {
		t.Fatal(routes, err)
	}
	r.Routes = nil
	if _, err := b.driver.End(t.Context(), r, "enough"); err != nil || len(c.open) != 0 {
		t.Errorf("%v; still carried: %+v", err, c.open)
	}
	b.nothingLeft()
}

func TestReachMendsWhatCarries(t *testing.T) {
	t.Parallel()
	b, p, c := newRouted(t)
	r := b.mustStart("one")
	clear(c.open)
	c.first = 30000
	p.unreachable = "the host is away"
	again, err := machine.Reach(t.Context(), b.ledger, c, r)
	if url, _ := again.Endpoint(7070); err != nil || url != "http://127.0.0.1:37070" || len(c.open[r.ID]) != 1 {
		t.Errorf("reached %+v, %v", again, err)
	}
	c.err = errors.New("no port is free")
	if _, err := machine.Reach(t.Context(), b.ledger, c, r); err == nil || !errors.Is(err, c.err) {
		t.Errorf("without a port: %v", err)
	}
}

// TestEndedWhileItIsReached ends a machine after its record was read, and before its ports are carried.
func TestEndedWhileItIsReached(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]func(*bench, *carrier, machine.Record) (machine.Record, error){
		"to connect": func(b *bench, c *carrier, r machine.Record) (machine.Record, error) {
			return machine.Reach(t.Context(), b.ledger, c, r)
		},
		"to look": func(b *bench, _ *carrier, _ machine.Record) (machine.Record, error) {
			all, err := b.driver.Refresh(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			return all[0], nil
		},
	} {
		b, _, c := newRouted(t)
		r := b.mustStart("one")
		c.before = func() {
			c.before = nil
			if _, err := b.driver.End(t.Context(), r, "enough"); err != nil {
				t.Error(err)
			}
		}
		if now, err := reach(b, c, r); err != nil || now.Live() || len(c.open) != 0 {
			t.Errorf("%s: %+v, %v; still carried: %+v", name, now, err, c.open)
		}
		b.nothingLeft()
	}
}

func TestUnreachableIsNotStopped(t *testing.T) {
	t.Parallel()
	b, p, c := newRouted(t)
	r := b.mustStart("one")
	p.unreachable = "gpu-box does not answer"
	all, err := b.driver.Refresh(t.Context())
	if err != nil || all[0].State != sdk.Unreachable || all[0].Message != p.unreachable || len(all[0].Endpoints) != 1 || len(all[0].Routes) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	p.unreachable = ""
	if all, err = b.driver.Refresh(t.Context()); err != nil || all[0].State != sdk.Running || all[0].Message != "" {
		t.Errorf("afterwards %+v, %v", all, err)
	}
	b.cloud.Stop(r.Handle, sdk.Stopped)
	if all, err = b.driver.Refresh(t.Context()); err != nil || all[0].Live() || len(c.open) != 0 {
		t.Errorf("ended %+v, %v; carried: %+v", all, err, c.open)
	}
}

// TestEndOfAMachineWhoseHostIsAway asks only briefly, says when the machine ends by itself, and
// keeps the record, so that a later collection ends the machine.
func TestEndOfAMachineWhoseHostIsAway(t *testing.T) {
	t.Parallel()
	b, _, c := newRouted(t)
	r := b.mustStart("one")
	away := failAt(enginetest.OpTerminate, 0, sdk.Unavailable, "gpu-box does not answer")
	b.cloud.SetScript(enginetest.Script{Before: away})
	began := b.clock.Now()
	_, err := b.driver.End(t.Context(), r, "enough")
	var left *machine.LeftoverError
	if !errors.As(err, &left) || !left.Ends.Equal(r.HardEnd) || !strings.Contains(err.Error(), "gpu-box does not answer") || !strings.Contains(err.Error(), "ends by itself at "+r.HardEnd.Local().Format("2006-01-02 15:04")) {
		t.Errorf("%v", err)
	}
	if took := b.clock.Now().Sub(began); took > 3*time.Second {
		t.Errorf("it was asked for %v", took)
	}
	if kept, err := b.ledger.Get(r.ID); err != nil || !kept.Live() || kept.Ending != "enough" || len(c.open) != 1 {
		t.Errorf("%+v, %v; carried %+v", kept, err, c.open)
	}
	began = b.clock.Now()
	if report := b.gc(); len(report.Failed) != 1 || b.clock.Now().Sub(began) > 3*time.Second {
		t.Errorf("%+v after %v", report, b.clock.Now().Sub(began))
	}
	b.cloud.SetScript(enginetest.Script{})
	if report := b.gc(); len(report.Ended) != 1 {
		t.Errorf("%+v", report)
	}
	b.nothingLeft()
}

// TestOneHostIsAway collects on the other hosts of the provider.
func TestOneHostIsAway(t *testing.T) {
	t.Parallel()
	b, p, _ := newRouted(t)
	one, two := b.mustStart("one"), b.mustStart("two")
	b.clock.Advance(3 * time.Hour) // both have expired
	p.away = one.Handle
	report := b.gc()
	if len(report.Failed) != 1 || report.Failed[0].ID != one.ID || len(report.Ended) != 1 || report.Ended[0].ID != two.ID {
		t.Errorf("%+v", report)
	}
	p.away = ""
	b.gc()
	b.nothingLeft()
}

// TestHostOfTwoNames lists each machine a second time, by another name of its host: that is no
// second machine, also while the first is started.
func TestHostOfTwoNames(t *testing.T) {
	t.Parallel()
	b, p, _ := newRouted(t)
	p.alias = "other/"
	r := b.mustStart("one")
	if _, err := b.ledger.Update(t.Context(), r.ID, func(r *machine.Record) error { r.Routes = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.driver.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	if report := b.gc(); len(report.Cleaned)+len(report.Ended)+len(report.Failed) != 0 {
		t.Errorf("%+v", report)
	}
	if all, err := b.driver.Refresh(t.Context()); err != nil || all[0].State != sdk.Running {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := b.driver.End(t.Context(), r, "enough"); err != nil {
		t.Error(err)
	}
	b.nothingLeft()
}

func TestStartWithoutAWay(t *testing.T) {
	t.Parallel()
	b, _, c := newRouted(t)
	c.err = errors.New("no port is free")
	if _, err := b.start(t.Context(), "one"); !errors.Is(err, c.err) {
		t.Errorf("%v", err)
	}
	b.nothingLeft()
	b.driver.Routes = nil
	if _, err := b.start(t.Context(), "two"); sdk.CodeOf(err) != sdk.Unsupported {
		t.Errorf("%v", err)
	}
	b.nothingLeft()
}
