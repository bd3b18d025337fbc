package runpod_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func TestDescribe(t *testing.T) {
	r := newRig(t)
	r.key = "rpa_wrong"
	info, err := r.Describe(t.Context())
	if err != nil || info.Name != "runpod" || !info.Has(sdk.FeatureVolumes) || !info.Has(sdk.FeatureSelfEnd) || info.Has(sdk.FeatureBuild) || info.PollSeconds != 5 || len(info.GPUs) != 0 {
		t.Errorf("%+v, %v", info, err)
	}
	if n := sum(r.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func (r *rig) offers(q sdk.OfferQuery) []sdk.Offer {
	r.t.Helper()
	before := sum(r.Requests())
	offers, err := r.Offers(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	if n := sum(r.Requests()) - before; n != 1 {
		r.t.Errorf("%d requests for offers", n)
	}
	return offers
}

func ids(offers []sdk.Offer) (out []string) {
	for _, o := range offers {
		out = append(out, o.ID)
	}
	return out
}

func TestOffers(t *testing.T) {
	for name, tc := range map[string]struct {
		q    sdk.OfferQuery
		want []string
	}{
		"model":       {sdk.OfferQuery{GPU: "A100"}, []string{"NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"}},
		"form":        {sdk.OfferQuery{GPU: "A100-SXM"}, []string{"NVIDIA A100-SXM4-80GB"}},
		"exact id":    {sdk.OfferQuery{GPU: "NVIDIA H100 80GB HBM3"}, []string{"NVIDIA H100 80GB HBM3"}},
		"count":       {sdk.OfferQuery{GPU: "A40", GPUCount: 10}, []string{"NVIDIA A40"}},
		"too many":    {sdk.OfferQuery{GPU: "L4", GPUCount: 9}, nil},
		"unknown":     {sdk.OfferQuery{GPU: "Q1"}, nil},
		"community":   {sdk.OfferQuery{GPU: "H200", Options: json.RawMessage(`{"cloud":"community"}`)}, nil},
		"region":      {sdk.OfferQuery{GPU: "L4", Regions: []string{"eu-"}}, []string{"NVIDIA L4@EU-RO-1,EU-SE-1"}},
		"data centre": {sdk.OfferQuery{GPU: "L4", Regions: []string{"US-KS-2", "MARS"}}, []string{"NVIDIA L4@US-KS-2"}},
		"CPU":         {sdk.OfferQuery{CPU: 3}, []string{"cpu3c:4", "cpu5c:4", "cpu3g:4", "cpu5g:4"}},
		"memory":      {sdk.OfferQuery{MemoryGB: 60}, []string{"cpu3g:16", "cpu5g:16", "cpu3c:32", "cpu5c:32"}},
		"much memory": {sdk.OfferQuery{MemoryGB: 100}, []string{"cpu3g:32", "cpu5g:32"}},
		"whole Earth": {sdk.OfferQuery{CPU: 1e9}, nil},
		"CPU, region": {sdk.OfferQuery{Regions: []string{"OC"}}, []string{"cpu3c:2@OC-AU-1", "cpu5c:2@OC-AU-1", "cpu3g:2@OC-AU-1", "cpu5g:2@OC-AU-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(newRig(t).offers(tc.q)); !slices.Equal(got, tc.want) {
				t.Errorf("%q, not %q", got, tc.want)
			}
		})
	}
}

func TestOffer(t *testing.T) {
	r := newRig(t)
	r.SetBehaviour(fakerunpod.Behaviour{UnknownFields: true})
	r.Stock("NVIDIA H100 80GB HBM3", "", 0)
	r.Stock("NVIDIA H100 80GB HBM3", "EU-SE-1", 2)
	all := r.offers(sdk.OfferQuery{GPU: "*", GPUCount: 2, MemoryGB: 64})
	if !slices.IsSortedFunc(all, func(a, b sdk.Offer) int { return int((a.CostPerHour - b.CostPerHour) * 1e4) }) {
		t.Errorf("not the cheapest first: %v", all)
	}
	i := slices.IndexFunc(all, func(o sdk.Offer) bool { return o.GPU == "H100-SXM" })
	if want := (sdk.Offer{ID: "NVIDIA H100 80GB HBM3", GPU: "H100-SXM", GPUCount: 2, GPUMemoryGB: 80, MemoryGB: 64, CostPerHour: 5.3827, Stock: sdk.StockLow}); i < 0 || all[i] != want {
		t.Errorf("%+v, not %+v", all[max(i, 0)], want)
	}
	if o := r.offers(sdk.OfferQuery{GPU: "H100-SXM", Regions: []string{"EU"}}); len(o) != 1 || o[0].ID != "NVIDIA H100 80GB HBM3@EU-SE-1" || o[0].Stock != sdk.StockLow || o[0].Region != "EU-SE-1" {
		t.Errorf("%+v", o)
	}
	if o := r.offers(sdk.OfferQuery{GPU: "H100-SXM", Regions: []string{"US-KS-2"}}); len(o) != 1 || o[0].Stock != sdk.StockNone {
		t.Errorf("sold out there: %+v", o)
	}
	if o := r.offers(sdk.OfferQuery{GPU: "B200", Options: json.RawMessage(`{"cuda":"13.0"}`)}); len(o) != 1 || o[0].Stock != sdk.StockNone {
		t.Errorf("no host is so new: %+v", o)
	}
	if o := r.offers(sdk.OfferQuery{GPU: "A40"}); len(o) != 1 || o[0].Stock != sdk.StockHigh || o[0].CostPerHour != 0.4027 {
		t.Errorf("%+v", o)
	}
	if o := r.offers(sdk.OfferQuery{GPU: "A40", DiskGB: 730}); len(o) != 1 || o[0].CostPerHour != 0.5 {
		t.Errorf("with a large disk: %+v", o)
	}
	if o := r.offers(sdk.OfferQuery{CPU: 2}); o[0].CostPerHour != 0.0627 || o[0].MemoryGB != 4 || o[0].GPU != "" {
		t.Errorf("%+v", o[0])
	}
}

func TestNoOffers(t *testing.T) {
	r := newRig(t)
	_, err := r.Offers(t.Context(), sdk.OfferQuery{GPU: "L4", Regions: []string{"MARS"}})
	testkit.WantCode(t, err, sdk.Invalid, "MARS", "EU-RO-1")
	_, err = r.Offers(t.Context(), sdk.OfferQuery{Options: json.RawMessage(`{"cloud":"COMMUNITY"}`)})
	testkit.WantCode(t, err, sdk.Invalid, "COMMUNITY")
	r.key = "rpa_wrong"
	_, err = r.Offers(t.Context(), sdk.OfferQuery{GPU: "*"})
	testkit.WantCode(t, err, sdk.Unauthorized, "RUNPOD_API_KEY")
}

// Without an offer the provider takes what fits.
func TestChoosesItself(t *testing.T) {
	r := newRig(t)
	r.Stock("NVIDIA A100 80GB PCIe", "", 0)
	spec := newSpec()
	spec.Offer, spec.GPU, spec.Regions = "", "A100", []string{"US-CA"}
	p := r.ask("GET", "/pods/"+r.mustCreate(spec), nil)
	if gpu := p["gpu"].(map[string]any); gpu["id"] != "NVIDIA A100-SXM4-80GB" || p["dataCenterId"] != "US-CA-2" {
		t.Errorf("%v in %v", gpu, p["dataCenterId"])
	}
	spec.Key, spec.Offer, spec.GPU = "named", "cpu3g:4", ""
	spec.CPU = 4
	if p := r.ask("GET", "/pods/"+r.mustCreate(spec), nil); p["dataCenterId"] != "US-CA-2" || p["cpu"].(map[string]any)["id"] != "cpu3g" {
		t.Errorf("%v", p)
	}
	spec.Key, spec.Offer, spec.GPU = "none", "", "Q1"
	_, _, err := r.create(spec)
	testkit.WantCode(t, err, sdk.NoCapacity, "Q1", "seer offers")
	if !strings.Contains(err.Error(), "runpod") {
		t.Error(err)
	}
}

// A flavour that has a price for Serverless alone is no machine, least of all a free one.
func TestFlavourWithoutAPriceForPods(t *testing.T) {
	r := newRig(t, func(o *fakerunpod.Options) {
		o.CPUs = []fakerunpod.CPU{
			{ID: "cpu9x", Name: "Serverless alone", Group: "Gen 9", RAMPerVCPU: 2},
			{ID: "cpu5c", Name: "Compute-Optimized", Group: "Gen 5", RAMPerVCPU: 2, PricePerVCPU: 0.035},
		}
	})
	offers, err := r.Offers(t.Context(), sdk.OfferQuery{CPU: 2})
	if err != nil || len(offers) != 1 || offers[0].ID != "cpu5c:2" || offers[0].CostPerHour <= 0 {
		t.Errorf("offers %+v, %v", offers, err)
	}
}
