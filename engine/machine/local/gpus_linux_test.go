package local

import (
	"context"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// withGPUs gives the provider GPUs whose nodes are other devices that are everywhere.
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
	if _, err := pl.p.Create(context.Background(), ask("third", "H100", 1, isolation.None), nil); sdk.CodeOf(err) != sdk.NoCapacity || !strings.Contains(err.Error(), "1 × H100 requested, 0 of this computer's 2 free") {
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

// TestGPUsAreTakenOnce: many at once, each through a provider of its own.
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
