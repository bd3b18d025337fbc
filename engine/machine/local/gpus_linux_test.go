package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/fakesmi"
	"github.com/seer-engine/seer/sdk"
)

// withGPUs gives the provider GPUs whose nodes are other devices that every computer has.
func withGPUs(pl *place) {
	pl.p.GPUs = func(context.Context) (isolation.GPUSet, error) {
		return isolation.GPUSet{
			Found: []isolation.GPU{
				{Index: 0, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a", Memory: 80 << 30, Device: "/dev/zero"},
				{Index: 1, Name: "NVIDIA L4", UUID: "GPU-b", Memory: 24 << 30, Device: "/dev/random"},
				{Index: 2, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-c", Memory: 80 << 30, Device: "/dev/full"},
			},
			Driver: "580.1", Common: []string{"/dev/null"},
		}, nil
	}
}

func TestGPUOffers(t *testing.T) {
	pl := newPlace(t)
	if offers, err := pl.p.Offers(context.Background(), sdk.OfferQuery{GPU: "*"}); err != nil || len(offers) != 0 {
		t.Errorf("without a GPU: %+v, %v", offers, err)
	}
	withGPUs(pl)
	info, err := pl.p.Describe(context.Background())
	if err != nil || strings.Join(info.GPUs, " ") != "H100-SXM L4" {
		t.Errorf("%+v, %v", info, err)
	}
	for _, tc := range []struct {
		gpu   string
		count int
		want  string
	}{
		{"*", 0, "H100-SXM L4"}, {"H100", 1, "H100-SXM"}, {"h100-sxm", 2, "H100-SXM"}, {"H100", 3, ""}, {"L4", 2, ""}, {"A100", 1, ""}, {"*", 2, "H100-SXM"},
	} {
		offers, err := pl.p.Offers(context.Background(), sdk.OfferQuery{GPU: tc.gpu, GPUCount: tc.count})
		var got []string
		for _, o := range offers {
			got = append(got, o.GPU)
			if o.Stock != sdk.StockHigh || o.CostPerHour != 0 || o.GPUCount != tc.count || o.GPUMemoryGB < 24 {
				t.Errorf("%+v", o)
			}
		}
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%s × %d: %+v, %v", tc.gpu, tc.count, offers, err)
		}
	}
	pl.p.GPUs = func(context.Context) (isolation.GPUSet, error) {
		return isolation.GPUSet{Reason: "nvidia-smi fails"}, nil
	}
	if _, err := pl.p.Offers(context.Background(), sdk.OfferQuery{GPU: "*"}); err == nil || !strings.Contains(err.Error(), "nvidia-smi fails") {
		t.Errorf("a broken driver: %v", err)
	}
}

const showsGPUs = `
import os
print(os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("NVIDIA_VISIBLE_DEVICES"), *[d for d in ("/dev/full", "/dev/zero") if os.path.exists(d)])`

func TestOneGPUOneSandbox(t *testing.T) {
	pl := newPlace(t)
	withGPUs(pl)
	ask := func(key, gpu string, count int, kind string) sdk.MachineSpec {
		spec := pl.spec(key, kind)
		spec.GPU, spec.GPUCount = gpu, count
		return spec
	}
	first := pl.up(ask("first", "H100", 1, isolation.None))
	if got := first.run(showsGPUs); !strings.HasPrefix(got, "GPU-a GPU-a") {
		t.Errorf("the first: %s", got)
	}
	second := pl.up(ask("second", "H100!", 1, isolation.Bubblewrap))
	if got := second.run(showsGPUs); !strings.HasPrefix(got, "GPU-c GPU-c") || !strings.Contains(got, "/dev/full") {
		t.Errorf("the second: %s", got)
	}
	if _, err := pl.p.Create(context.Background(), ask("third", "H100", 1, isolation.None), nil); sdk.CodeOf(err) != sdk.NoCapacity ||
		!strings.Contains(err.Error(), "1 × H100 requested, 0 of this computer's 2 free; GPU 0 (H100-SXM): sandbox first of ") || !strings.Contains(err.Error(), "; GPU 2 (H100-SXM): sandbox second of ") {
		t.Errorf("a third: %v", err)
	}
	if offers, err := pl.p.Offers(context.Background(), sdk.OfferQuery{GPU: "H100"}); err != nil || len(offers) != 1 || offers[0].Stock != sdk.StockNone {
		t.Errorf("offers %+v, %v", offers, err)
	}
	if _, err := pl.p.Create(context.Background(), ask("many", "H100", 3, isolation.None), nil); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), "H100-SXM, L4") {
		t.Errorf("three: %v", err)
	}
	first.down()
	third := pl.up(ask("third", "H100", 1, isolation.None))
	if got := third.run(showsGPUs); !strings.HasPrefix(got, "GPU-a GPU-a") {
		t.Errorf("after the first: %s", got)
	}
	plain := pl.up(pl.spec("plain", isolation.None))
	if got := plain.run(showsGPUs); !strings.HasPrefix(got, "None None") {
		t.Errorf("without: %s", got)
	}
}

// TestGPUsAreTakenOnce starts many machines at once, each through a provider of its own.
func TestGPUsAreTakenOnce(t *testing.T) {
	pl := newPlace(t)
	const starts = 6
	results := make(chan error, starts)
	for i := range starts {
		other := &place{t: t, base: pl.base, p: providerAt(pl.base)}
		withGPUs(other)
		spec := pl.spec(string(rune('a'+i)), isolation.None)
		spec.GPU = "H100"
		go func() {
			_, err := other.p.Create(context.Background(), spec, nil)
			results <- err
		}()
	}
	took := 0
	for range starts {
		switch err := <-results; {
		case err == nil:
			took++
		case sdk.CodeOf(err) != sdk.NoCapacity:
			t.Error(err)
		}
	}
	if took != 2 {
		t.Errorf("%d machines have one of two GPUs", took)
	}
}

// gpuBench is a place with GPUs and a fake driver, a program of the test.
func gpuBench(t *testing.T) (*place, *fakesmi.SMI) {
	pl := newPlace(t)
	withGPUs(pl)
	smi := fakesmi.New(t)
	pl.p.Leases = leasesAt(pl.base, func(ctx context.Context) (gpulease.State, error) {
		return gpulease.AskSMI(ctx, func(_ context.Context, args ...string) ([]byte, error) { return smi.Command(args...).Output() })
	})
	return pl, smi
}

func (pl *place) wantGPU(key, gpu, kind string) sdk.MachineSpec {
	spec := pl.spec(key, kind)
	spec.GPU = gpu
	return spec
}

// TestGPUIsFreeOnceTheMachineIsDead kills a machine and its watchdog with SIGKILL. The program that
// ends the dead machine does not claim its GPU again.
func TestGPUIsFreeOnceTheMachineIsDead(t *testing.T) {
	t.Parallel()
	for _, kind := range own() {
		pl, _ := gpuBench(t)
		b := pl.up(pl.wantGPU("killed", "L4", kind))
		other := &place{t: t, base: pl.base, p: providerAt(pl.base)} // another program
		withGPUs(other)
		free := func() bool {
			offers, err := other.p.Offers(context.Background(), sdk.OfferQuery{GPU: "L4"})
			if err != nil || len(offers) != 1 {
				t.Fatal(offers, err)
			}
			return offers[0].Stock == sdk.StockHigh
		}
		if free() {
			t.Fatalf("%s: it is free while its machine lives", kind)
		}
		// A new watchdog takes the place of a killed one, and holds the GPU again.
		for _, pid := range pl.watchdogs() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		eventually(t, "the watchdog to be gone", func() bool { return len(pl.watchdogs()) == 0 })
		// A dying watchdog holds its locks for a moment after its arguments are gone.
		eventually(t, "a new watchdog to hold the GPU", func() bool { pl.observe(b.handle); return len(pl.watchdogs()) > 0 && !free() })
		n, err := pl.p.folder(b.handle).read()
		if err != nil {
			t.Fatal(err)
		}
		processes, err := pl.p.folder(b.handle).processesOf(n).Processes()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range processes {
			_ = signalTo(p, syscall.SIGKILL)
		}
		eventually(t, "the GPU to be free", free)
		pl.p.Leases = func() (*gpulease.Folder, error) {
			if !free() {
				t.Errorf("%s: the GPU is claimed again", kind)
			}
			return nil, errors.New("not needed")
		}
		b.down()
	}
}

// TestDownWaitsForTheMemory ends a machine whose memory the driver frees late, and one whose
// memory it never frees.
func TestDownWaitsForTheMemory(t *testing.T) {
	t.Parallel()
	pl, smi := gpuBench(t)
	waits := make(chan time.Duration, 1000)
	l4 := fakesmi.GPU{Name: "NVIDIA L4", UUID: "GPU-b", Total: 24 << 10}
	leases, err := gpulease.Open(gpulease.Options{Dir: filepath.Join(pl.base, "gpus"), Ask: func(ctx context.Context) (gpulease.State, error) {
		return gpulease.AskSMI(ctx, func(_ context.Context, args ...string) ([]byte, error) { return smi.Command(args...).Output() })
	}, After: func(d time.Duration) <-chan time.Time {
		waits <- d
		if len(waits) == 3 {
			smi.GPUs(l4)
		}
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	pl.p.Leases = func() (*gpulease.Folder, error) { return leases, nil }
	var log bytes.Buffer
	pl.p.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
	// A start waits a little, too: another program may just have ended.
	full := l4
	full.Used = 20 << 10
	smi.GPUs(full)
	pl.up(pl.wantGPU("after another program", "L4", isolation.None)).down()
	if len(waits) != 3 {
		t.Errorf("a start waited %d times", len(waits))
	}
	for len(waits) > 0 {
		<-waits
	}
	for name, want := range map[string]int{"late": 3, "never": int(freePatience / freeEvery)} {
		b := pl.up(pl.wantGPU(name, "L4", isolation.None))
		n, err := pl.p.folder(b.handle).read()
		if err != nil {
			t.Fatal(err)
		}
		log.Reset()
		if name == "late" {
			smi.GPUs(full)
		} else {
			smi.Apps(fakesmi.App{GPU: "GPU-b", PID: n.Outer.PID, Name: "python3", Used: 9000})
		}
		b.down()
		if len(waits) != want {
			t.Errorf("%s: waited %d times, not %d", name, len(waits), want)
		}
		if said := strings.Contains(log.String(), "is still on the GPU GPU-b"); said != (name == "never") {
			t.Errorf("%s: %s", name, log.String())
		}
		for len(waits) > 0 {
			<-waits
		}
		smi.Apps()
	}
}

// TestGPUQueue has a start wait for its turn.
func TestGPUQueue(t *testing.T) {
	t.Parallel()
	pl, _ := gpuBench(t)
	first := pl.up(pl.wantGPU("first", "L4", isolation.None))
	spec := pl.wantGPU("second", "L4", isolation.None)
	told := make(chan string, 10)
	wait, leave, err := pl.p.Queue(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	turn := make(chan error, 1)
	go func() { turn <- wait(t.Context(), func(text string) { told <- text }) }()
	if text := <-told; !strings.HasPrefix(text, "waiting, place 1 in the queue: 1 × L4 requested, 0 of this computer's 1 free; GPU 1 (L4): sandbox first of ") {
		t.Error(text)
	}
	first.down()
	if err := <-turn; err != nil {
		t.Fatal(err)
	}
	other := &place{t: t, base: pl.base, p: providerAt(pl.base)} // another program, which does not wait
	withGPUs(other)
	if _, err := other.p.Create(t.Context(), pl.wantGPU("third", "L4", isolation.None), nil); sdk.CodeOf(err) != sdk.NoCapacity || !strings.Contains(err.Error(), "1 ahead in the queue") {
		t.Error(err)
	}
	b := pl.up(spec)
	leave()
	if wait, _, err := pl.p.Queue(t.Context(), pl.spec("none", isolation.None)); wait != nil || err != nil {
		t.Error("a queue for a machine without a GPU:", err)
	}
	// A start that gives up leaves no place in the queue.
	ctx, cancel := context.WithCancel(t.Context())
	wait, leave, err = pl.p.Queue(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(ctx, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	leave()
	b.down()
	left, err := filepath.Glob(filepath.Join(pl.base, "gpus", "*.*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestGPUClaimsCannotBeWritten(t *testing.T) {
	t.Parallel()
	pl := newPlace(t)
	withGPUs(pl)
	if err := os.WriteFile(filepath.Join(pl.base, "gpus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pl.p.Create(t.Context(), pl.wantGPU("none", "L4", isolation.None), nil); err == nil || !strings.Contains(err.Error(), "the folder of claims of GPUs "+pl.base) {
		t.Error(err)
	}
}

// TestSharedGPU has sandboxes on one GPU, each with a part of its memory.
func TestSharedGPU(t *testing.T) {
	t.Parallel()
	pl, _ := gpuBench(t)
	spec := func(key string, share sdk.GPUShare) sdk.MachineSpec {
		s := pl.wantGPU(key, "L4", isolation.None)
		s.GPUShare = &share
		return s
	}
	const shows = `import os; print(os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("SEER_GPU_FRACTION"), os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION"))`
	if got := pl.up(spec("half", sdk.GPUShare{Parts: 2})).run(shows); got != "GPU-b 0.5000 0.5000" {
		t.Error(got)
	}
	if got := pl.up(spec("amount", sdk.GPUShare{GB: 6})).run(shows); got != "GPU-b 0.2500 0.2500" {
		t.Error(got)
	}
	if _, err := pl.p.Create(t.Context(), spec("more", sdk.GPUShare{GB: 7}), nil); sdk.CodeOf(err) != sdk.NoCapacity || !strings.Contains(err.Error(), "1 × 7.5 GB of L4 requested, 0 of") {
		t.Error(err)
	}
	if _, err := pl.p.Create(t.Context(), spec("large", sdk.GPUShare{GB: 25}), nil); sdk.CodeOf(err) != sdk.Unsupported {
		t.Error(err)
	}
	uses, picked, err := pl.p.GPUUses(t.Context(), spec("last", sdk.GPUShare{Parts: 4}))
	if err != nil || len(picked) != 1 || uses[picked[0]].UUID != "GPU-b" || uses[picked[0]].Free() != 6<<30 {
		t.Errorf("%+v, %v, %v", uses, picked, err)
	}
	if got := pl.up(pl.wantGPU("whole", "H100", isolation.None)).run(shows); got != "GPU-a None None" {
		t.Error(got)
	}
}
