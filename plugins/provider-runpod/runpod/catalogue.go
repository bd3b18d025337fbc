package runpod

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// gpuType is a GPU of the catalogue. Prices are USD an hour for one of it.
type gpuType struct {
	ID       string  `json:"id"`
	Memory   float64 `json:"memory"` // GB
	Secure   bool    `json:"secure"`
	Communal bool    `json:"community"`
	Price    struct {
		Secure   float64 `json:"secure"`
		Communal float64 `json:"community"`
	} `json:"price"`
	MaxCount struct {
		Secure   int `json:"secure"`
		Communal int `json:"community"`
	} `json:"maxCount"`
	availability
}

// in gives what holds for one of the two clouds.
func (g gpuType) in(cloud string) (has bool, price float64, most int) {
	if cloud == community {
		return g.Communal, g.Price.Communal, g.MaxCount.Communal
	}
	return g.Secure, g.Price.Secure, g.MaxCount.Secure
}

// cpuType is a flavour of machines without a GPU.
type cpuType struct {
	ID   string `json:"id"`
	VCPU struct {
		Min int `json:"min"`
		Max int `json:"max"`
	} `json:"vcpu"`
	RAMPerVCPU float64 `json:"ramGbPerVcpu"`
	Price      struct {
		PerVCPU float64 `json:"securePerVcpu"` // USD an hour
	} `json:"price"`
	availability
}

// availability is how much is free, everywhere and in each place.
type availability struct {
	Level       string  `json:"availability"`
	DataCenters []place `json:"dataCenters"`
}

type place struct {
	ID    string `json:"id"`
	Level string `json:"availability"`
}

var stocks = map[string]sdk.Stock{"NONE": sdk.StockNone, "LOW": sdk.StockLow, "MEDIUM": sdk.StockMedium, "HIGH": sdk.StockHigh}

func rank(s sdk.Stock) int {
	return slices.Index([]sdk.Stock{sdk.StockNone, sdk.StockUnknown, sdk.StockLow, sdk.StockMedium, sdk.StockHigh}, s)
}

// within gives the places among some, those with the most stock first, and what is
// free in the best of them. Where there is nothing it names them all. With no places
// it is all of RunPod, and no data centre is named.
func (a availability) within(places []string) ([]string, sdk.Stock) {
	if len(places) == 0 {
		return nil, stocks[a.Level]
	}
	var have []string
	stock := sdk.StockNone
	for _, p := range a.sorted() {
		if slices.Contains(places, p.ID) {
			if len(have) == 0 {
				stock = stocks[p.Level]
			}
			have = append(have, p.ID)
		}
	}
	if len(have) == 0 {
		have = places
	}
	return have, stock
}

// placesIn are the data centres of the regions, as far as anything is there now.
func placesIn(regions []string, all []availability) ([]string, error) {
	if len(regions) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, a := range all {
		for _, p := range a.sorted() {
			known[p.ID] = inRegions(p.ID, regions)
		}
	}
	ids := slices.Sorted(maps.Keys(known))
	places := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !known[id] })
	if len(places) == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "no data centre of RunPod's that has anything now is in %s; there are %s", strings.Join(regions, ", "), strings.Join(ids, ", "))
	}
	return places, nil
}

// free are the data centres where something is left, those with the most first.
func (a availability) free() []string {
	var places []string
	for _, p := range a.sorted() {
		if stocks[p.Level] != sdk.StockNone {
			places = append(places, p.ID)
		}
	}
	return places
}

func (a availability) sorted() []place {
	all := slices.DeleteFunc(slices.Clone(a.DataCenters), func(p place) bool { return !dataCenterForm.MatchString(p.ID) })
	slices.SortStableFunc(all, func(x, y place) int { return cmp.Compare(rank(stocks[y.Level]), rank(stocks[x.Level])) })
	return all
}

// inRegions reports whether a data centre is meant by one of the user's regions: by
// its id, or by the beginning of it up to a hyphen (EU, EU-, US-KS).
func inRegions(id string, regions []string) bool {
	return slices.ContainsFunc(regions, func(r string) bool {
		r = strings.TrimSuffix(strings.ToUpper(r), "-")
		upper := strings.ToUpper(id)
		return r != "" && (upper == r || strings.HasPrefix(upper, r+"-"))
	})
}

func (c *client) gpus(ctx context.Context, count int, o options) ([]gpuType, error) {
	query := url.Values{"include": {"AVAILABILITY"}, "product": {"POD"}, "count": {strconv.Itoa(count)}, "cloud": {o.Cloud}}
	if o.Cuda != "" {
		query.Set("minCudaVersion", o.Cuda)
	}
	var answer struct {
		GPUs []gpuType `json:"gpus"`
	}
	err := c.do(ctx, call{doing: "asking for GPUs", method: "GET", path: "/catalog/gpus", query: query}, &answer)
	return answer.GPUs, err
}

func (c *client) cpus(ctx context.Context, vcpus int) ([]cpuType, error) {
	query := url.Values{"include": {"AVAILABILITY"}, "product": {"POD"}, "vcpuCount": {strconv.Itoa(vcpus)}}
	var answer struct {
		CPUs []cpuType `json:"cpus"`
	}
	err := c.do(ctx, call{doing: "asking for CPUs", method: "GET", path: "/catalog/cpus", query: query}, &answer)
	return answer.CPUs, err
}

// dataCenter is a place of the catalogue.
type dataCenter struct {
	ID      string   `json:"id"`
	Volumes []string `json:"networkVolumeTypes"` // empty = none can be made there
}

func (c *client) dataCenters(ctx context.Context) ([]dataCenter, error) {
	var answer struct {
		DataCenters []dataCenter `json:"dataCenters"`
	}
	err := c.do(ctx, call{doing: "asking for data centres", method: "GET", path: "/catalog/datacenters"}, &answer)
	return answer.DataCenters, err
}
