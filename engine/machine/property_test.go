package machine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// trouble is what happens at one call of a provider.
type trouble struct {
	name string
	do   func(m *market, cancel func()) error
}

func troubles() []trouble {
	fault := func(code sdk.Code) func(*market, func()) error {
		return func(*market, func()) error { return sdk.Errorf(code, "%s", code) }
	}
	another := func(m *market) *market { return newMarketAt(m.t, m.dir, m.clock, m.cloud, m.other) }
	return []trouble{
		{"no capacity", fault(sdk.NoCapacity)},
		{"unavailable", fault(sdk.Unavailable)},
		{"refused", fault(sdk.Unauthorized)},
		{"cancel", func(_ *market, cancel func()) error { cancel(); return nil }},
		{"cancel, and nothing can be ended", func(m *market, cancel func()) error { m.stuck = true; cancel(); return nil }},
		{"crash", func(*market, func()) error { panic(died{}) }},
		{"gc by another program", func(m *market, _ func()) error { another(m).gc(); return nil }},
		{"down by another program", func(m *market, _ func()) error {
			other := another(m)
			r, err := other.ledger.Resolve("x")
			if err == nil && r.Live() {
				_, err = other.driver.End(context.Background(), r, "changed my mind")
			}
			if err != nil {
				m.t.Error(err)
			}
			return nil
		}},
	}
}

// scenes are the ways in which a start goes over its choices.
func scenes() map[string][2]enginetest.Script {
	fine := enginetest.Script{Steps: 1, StepDelay: time.Second, Boot: 5 * time.Second, CostPerHour: 2}
	queue, dear, sold := fine, fine, fine
	queue.Queue, dear.CostPerHour, sold.Sold = 24*time.Hour, 9, []string{"H100", "A100"}
	return map[string][2]enginetest.Script{
		"max_wait": {queue, queue}, "expected": {queue, fine},
		"first": {fine, fine}, "sold": {sold, fine}, "queue": {queue, fine}, "dear": {dear, fine}, "none": {sold, sold}, "slow": {queue, dear},
	}
}

// choicesOf are those of a scene. In one the first queue is waited for, in another it is not joined.
func choicesOf(scene string) []machine.Choice {
	switch scene {
	case "max_wait":
		return patient(time.Minute)
	case "expected":
		from := patient(time.Minute)
		from[0].Wait, from[0].Queues = time.Hour, true
		return from
	}
	return nil
}

// Whatever happens at whichever call: no machine costs money that the ledger does
// not know, and once its time has passed, a later program has ended every one.
func TestNothingIsEverLost(t *testing.T) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // thousands of syncs
	}
	cases := 0
	for scene, scripts := range scenes() {
		for _, at := range momentsOf(t, scene, scripts) {
			for _, what := range troubles() {
				cases++
				t.Run(fmt.Sprintf("%s/%s-%s-%d-after=%v/%s", scene, at.on, at.call.Op, at.call.N, at.after, what.name), func(t *testing.T) {
					live(t, scene, scripts, at, what)
				})
			}
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases", cases)
	}
}

// moment is before or after the effect of one call.
type moment struct {
	on    string // the provider
	call  enginetest.Call
	after bool
}

// watch has each moment of a market told.
func (m *market) watch(scripts [2]enginetest.Script, tell func(moment) error) {
	for on, p := range map[string]*enginetest.Provider{"cloud": m.cloud, "other": m.other} {
		script := scripts[0]
		if on == "other" {
			script = scripts[1]
		}
		script.Before = func(c enginetest.Call) error { return tell(moment{on, c, false}) }
		script.After = func(c enginetest.Call) error { return tell(moment{on, c, true}) }
		p.SetScript(script)
	}
}

// momentsOf are those of a start without trouble, of each operation the first, of Create
// the second too.
func momentsOf(t *testing.T, scene string, scripts [2]enginetest.Script) (all []moment) {
	m := newMarket(t, scripts[0], scripts[1])
	m.from = choicesOf(scene)
	m.watch(scripts, func(at moment) error {
		if at.call.N == 1 || at.call.N == 2 && at.call.Op == enginetest.OpCreate {
			all = append(all, at)
		}
		return nil
	})
	_, _ = m.rent(context.Background(), dearest, m.from...)
	return all
}

// live is one life: a start with trouble at one moment, and what a later program
// makes of it.
func live(t *testing.T, scene string, scripts [2]enginetest.Script, at moment, what trouble) {
	reached := false
	m := newMarket(t, scripts[0], scripts[1])
	m.from = choicesOf(scene)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.watch(scripts, func(now moment) error {
		m.allKnown()
		if now == at && !reached {
			reached = true
			return what.do(m, cancel)
		}
		if op := now.call.Op; m.stuck && !now.after && (op == enginetest.OpTerminate || op == enginetest.OpList) {
			return sdk.Errorf(sdk.Internal, "nothing can be ended now")
		}
		return nil
	})
	r, err := m.startOrDie(ctx)
	m.allKnown()
	if err == nil && (len(m.live()) != 1 || m.live()[0].Handle != r.Handle) {
		t.Errorf("it has %s of %s, and there are %+v", r.Handle, r.Provider, m.live())
	}
	var left *machine.LeftoverError
	if err != nil && what.name != "crash" && !errors.As(err, &left) {
		m.nothingLeft()
	}

	m.cloud.SetScript(enginetest.Script{})
	m.other.SetScript(enginetest.Script{})
	later := newMarketAt(t, m.dir, m.clock, m.cloud, m.other)
	if report := later.gc(); len(report.Failed) != 0 || err == nil && len(report.Ended) != 0 && what.name != "crash" {
		t.Errorf("at once: %+v", report)
	}
	m.clock.Advance(3 * time.Hour)
	if report := later.gc(); len(report.Failed)+len(report.Unrecorded) != 0 {
		t.Errorf("after its time: %+v", report)
	}
	later.nothingLeft()
	if !reached {
		t.Error("the start did not come to the call")
	}
}

// dearest makes the start mind that a machine is dearer than offered.
func dearest(r *machine.Record) { r.MaxPrice = 5 }

// startOrDie is a start in a program that may be killed.
func (m *market) startOrDie(ctx context.Context) (r machine.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, killed := p.(died); !killed {
				panic(p)
			}
			err = context.Canceled
		}
	}()
	return m.rent(ctx, dearest, m.from...)
}

// Two computers that share an account end their own machines and no others, also
// when those have outlived their time.
func TestTwoEnginesWithOneAccount(t *testing.T) {
	mine := newMarket(t, enginetest.Script{}, enginetest.Script{})
	theirs := newMarketAt(t, t.TempDir(), mine.clock, mine.cloud, mine.other)
	if mine.ledger.Owner() == theirs.ledger.Owner() {
		t.Fatal("two ledgers have one owner")
	}
	for _, m := range []*market{mine, theirs} {
		if _, err := m.rent(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
	both := machine.GCOptions{Also: []string{"cloud", "other"}}
	for range 2 {
		for _, m := range []*market{mine, theirs} {
			if report, err := m.driver.GC(context.Background(), both); err != nil || len(report.Ended)+len(report.Cleaned)+len(report.Failed)+len(report.Unrecorded) != 0 {
				t.Errorf("report %+v, %v", report, err)
			}
		}
	}
	mine.clock.Advance(3 * time.Hour)
	if report := mine.gc(); len(report.Ended) != 1 || len(report.Cleaned)+len(report.Unrecorded) != 0 {
		t.Errorf("report %+v", report)
	}
	if live := mine.live(); len(live) != 1 || live[0].Owner != theirs.ledger.Owner() {
		t.Errorf("machines %+v", live)
	}
	if report := theirs.gc(); len(report.Ended) != 1 {
		t.Errorf("report %+v", report)
	}
	theirs.nothingLeft()
}
