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
