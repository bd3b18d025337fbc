package sdktest_test

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func livingMachines(k sdktest.ProviderKit) (n int) {
	for _, m := range k.Machines() {
		if m.Live {
			n++
		}
	}
	return n
}

func TestLive(t *testing.T) {
	k := sampleKit(nil)
	k.Live = &sdktest.Live{MaxCost: 0.01}
	for _, r := range sdktest.RunChecks(t.Context(), sdktest.LiveChecks(k), nil) {
		if r.Status != sdktest.Passed {
			t.Errorf("%+v", r)
		}
	}
	if n := livingMachines(k); n != 0 || len(k.Machines()) != 1 {
		t.Errorf("%d machines live, of %d", n, len(k.Machines()))
	}
}

// The budget is over before a machine that never runs does.
func TestLiveBudget(t *testing.T) {
	k := sampleKit(flaws{"no endpoint": true})
	k.Live = &sdktest.Live{MaxCost: 0.1 / 3600} // one second of the cheapest
	got := failed(sdktest.RunChecks(t.Context(), sdktest.LiveChecks(k), nil))
	if !strings.Contains(got["live/running"], "budget") {
		t.Errorf("%v", got)
	}
	if n := livingMachines(k); n != 0 {
		t.Errorf("%d machines live", n)
	}
	k.Live = &sdktest.Live{}
	if got := failed(sdktest.RunChecks(t.Context(), sdktest.LiveChecks(k), nil)); !strings.Contains(got["live/offers"], "MaxCost") {
		t.Errorf("without a budget: %v", got)
	}
}

// interrupting presses Ctrl-C, or panics, in the middle of what is rented.
type interrupting struct {
	sdk.Provider
	do func()
}

func (i interrupting) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	i.do()
	return nil, sdk.Errorf(sdk.Unavailable, "not yet")
}

func TestLiveIsTidyWhenInterrupted(t *testing.T) {
	for name, do := range map[string]func(){
		"Ctrl-C": func() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGINT) },
		"panic":  func() { panic("in the middle") },
	} {
		k := sampleKit(nil)
		k.Live = &sdktest.Live{MaxCost: 1}
		open := k.Open
		k.Open = func(h *http.Client) sdk.Provider { return interrupting{open(h), do} }
		got := failed(sdktest.RunChecks(t.Context(), sdktest.LiveChecks(k), nil))
		if n := livingMachines(k); n != 0 || got["live/running"] == "" {
			t.Errorf("%s: %d machines live: %v", name, n, got)
		}
	}
}

func TestSweep(t *testing.T) {
	k := sampleKit(nil)
	world := sdktest.NewWorld(sdktest.Serve(k.Cloud))
	p := k.Open(world.Client(k.Headers))
	var want []string
	for _, key := range []string{"seer-a", "seer-b"} {
		spec := sdk.MachineSpec{Key: key, Owner: "seer-mine", Port: 1}
		step, err := p.Create(t.Context(), spec, nil)
		if err == nil {
			step, err = p.Create(t.Context(), spec, step.Cursor)
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, step.Handle)
	}
	world.Inject(sdktest.Fault{Times: 2, Effect: sdktest.StatusCode(503)})
	ended, err := sdktest.Sweep(t.Context(), p, "seer-mine")
	if err != nil || len(ended) != len(want) || livingMachines(k) != 0 {
		t.Errorf("%q, %v", ended, err)
	}
	world.Inject(sdktest.Fault{Effect: sdktest.StatusCode(401)})
	if _, err := sdktest.Sweep(t.Context(), p, "seer-mine"); err == nil || !strings.Contains(err.Error(), "may still cost money") {
		t.Errorf("%v", err)
	}
}
