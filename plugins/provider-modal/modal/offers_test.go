package modal_test

import (
	"math"
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

func TestOffers(t *testing.T) {
	p := newProvider(t, newCloud(t, fakemodal.Options{}))
	for name, tc := range map[string]struct {
		query sdk.OfferQuery
		ids   []string
		cost  float64 // of the first, about
	}{
		"none":           {sdk.OfferQuery{}, []string{"cpu"}, 0.02},
		"CPU and memory": {sdk.OfferQuery{CPU: 4, MemoryGB: 16}, []string{"cpu"}, 0.95},
		"H100":           {sdk.OfferQuery{GPU: "h100"}, []string{"H100"}, 3.97},
		"exact":          {sdk.OfferQuery{GPU: "H100!"}, []string{"H100!"}, 3.97},
		"or better":      {sdk.OfferQuery{GPU: "B200+"}, []string{"B200+"}, 6.27},
		"any A100":       {sdk.OfferQuery{GPU: "A100"}, []string{"A100-40GB", "A100-80GB"}, 2.12},
		"that A100":      {sdk.OfferQuery{GPU: "NVIDIA A100-SXM4-80GB"}, []string{"A100-80GB"}, 2.52},
		"any":            {sdk.OfferQuery{GPU: gpu.Any, GPUCount: 5}, []string{"T4", "L4", "L40S", "A100-40GB", "A100-80GB", "RTX-PRO-6000", "H100", "H200", "B200"}, 2.97},
		"A10G":           {sdk.OfferQuery{GPU: "A10G", GPUCount: 4}, []string{"A10"}, 4.43},
		"too many":       {sdk.OfferQuery{GPU: "A10", GPUCount: 5}, nil, 0},
		"eight":          {sdk.OfferQuery{GPU: "H200", GPUCount: 8}, []string{"H200"}, 36.34},
		"nine":           {sdk.OfferQuery{GPU: "H200", GPUCount: 9}, nil, 0},
		"unknown":        {sdk.OfferQuery{GPU: "RTX-4090"}, nil, 0},
		"no better one":  {sdk.OfferQuery{GPU: "H100+"}, nil, 0},
		"in a region":    {sdk.OfferQuery{GPU: "H100", Regions: []string{"eu-west"}}, []string{"H100"}, 6.95},
	} {
		t.Run(name, func(t *testing.T) {
			offers, err := p.Offers(t.Context(), tc.query)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, o := range offers {
				ids = append(ids, o.ID)
				if tc.query.GPU != "" && !gpu.Match(tc.query.GPU, o.GPU) && tc.query.GPU != "B200+" {
					t.Errorf("%s is offered for %s", o.GPU, tc.query.GPU)
				}
			}
			if !slices.Equal(ids, tc.ids) {
				t.Fatalf("offered %v, not %v", ids, tc.ids)
			}
			if len(offers) > 0 && math.Abs(offers[0].CostPerHour-tc.cost) > 0.006+tc.cost/100 {
				t.Errorf("costs %.3f, not %.2f", offers[0].CostPerHour, tc.cost)
			}
		})
	}
	_, err := p.Offers(t.Context(), sdk.OfferQuery{Options: []byte(`{"ap":"x"}`)})
	testkit.WantCode(t, err, sdk.Invalid, "ap")
}

// What Describe names can be asked for by that name.
func TestDescribe(t *testing.T) {
	p := newProvider(t, newCloud(t, fakemodal.Options{}))
	info, err := p.Describe(t.Context())
	if err != nil || info.Name != "modal" || !info.Has(sdk.FeatureSnapshot) || len(info.GPUs) != 10 {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, name := range info.GPUs {
		if gpu.Canonical(name) != name {
			t.Errorf("%s is not canonical", name)
		}
		offers, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: name})
		if err != nil || len(offers) != 1 || offers[0].ID != name || offers[0].GPUMemoryGB == 0 {
			t.Errorf("%s: %+v, %v", name, offers, err)
		}
	}
}
