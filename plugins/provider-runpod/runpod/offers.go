package runpod

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

const (
	defaultDisk   = 20                     // GB
	diskPerHour   = 0.10 / (365 * 24 / 12) // USD for a GB, while the machine runs
	smallestVCPUs = 2
)

// Offers implements [sdk.Provider]: one request to the catalogue. What is sold out is
// there too, with its stock.
func (p *Provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	o, err := parseOptions(q.Options)
	if err != nil {
		return nil, err
	}
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	return c.offers(ctx, q, o)
}

func (c *client) offers(ctx context.Context, q sdk.OfferQuery, o options) ([]sdk.Offer, error) {
	var offers []sdk.Offer
	var err error
	if q.GPU == "" {
		offers, err = c.cpuOffers(ctx, q, o)
	} else {
		offers, err = c.gpuOffers(ctx, q, o)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(offers, func(a, b sdk.Offer) int {
		return cmp.Or(cmp.Compare(a.CostPerHour, b.CostPerHour), strings.Compare(a.ID, b.ID))
	})
	return offers, nil
}

// offersOf are the offers of the types that can be had in the query's regions. It tells offer the
// data centres instead of the regions.
func offersOf[T any](all []T, q sdk.OfferQuery, free func(T) availability, offer func(T, sdk.OfferQuery) (sdk.Offer, bool)) ([]sdk.Offer, error) {
	stock := make([]availability, len(all))
	for i, one := range all {
		stock[i] = free(one)
	}
	var err error
	if q.Regions, err = placesIn(q.Regions, stock); err != nil {
		return nil, err
	}
	var offers []sdk.Offer
	for _, one := range all {
		if o, ok := offer(one, q); ok {
			offers = append(offers, o)
		}
	}
	return offers, nil
}

func (c *client) gpuOffers(ctx context.Context, q sdk.OfferQuery, o options) ([]sdk.Offer, error) {
	q.GPUCount = max(q.GPUCount, 1)
	all, err := c.gpus(ctx, q.GPUCount, o)
	if err != nil {
		return nil, err
	}
	return offersOf(all, q, func(g gpuType) availability { return g.availability }, func(g gpuType, q sdk.OfferQuery) (sdk.Offer, bool) { return g.offer(q, o) })
}

// offer is one of the GPU; the query's regions are data centres.
func (g gpuType) offer(q sdk.OfferQuery, o options) (sdk.Offer, bool) {
	has, price, most := g.in(o.Cloud)
	if !has || price <= 0 || most > 0 && q.GPUCount > most || !gpu.Match(q.GPU, g.ID) || !gpuForm.MatchString(g.ID) {
		return sdk.Offer{}, false
	}
	places, stock := g.within(q.Regions)
	return sdk.Offer{
		ID:          choice{ID: g.ID, DataCenters: places}.String(),
		GPU:         gpu.Canonical(g.ID),
		GPUCount:    q.GPUCount,
		GPUMemoryGB: g.Memory,
		MemoryGB:    q.MemoryGB, // asked for when it is rented; the catalogue does not tell
		Region:      strings.Join(places, ","),
		CostPerHour: hourly(price*float64(q.GPUCount), q.DiskGB),
		Stock:       stock,
	}, true
}

func (c *client) cpuOffers(ctx context.Context, q sdk.OfferQuery, o options) ([]sdk.Offer, error) {
	if o.Cloud != secure {
		return nil, sdk.Errorf(sdk.Invalid, "RunPod's %s cloud has no machines without a GPU; leave provider_options.cloud out, or ask for a GPU", o.Cloud)
	}
	least := powerOfTwo(max(q.CPU, smallestVCPUs))
	all, err := c.cpus(ctx, least)
	if err != nil {
		return nil, err
	}
	return offersOf(all, q, func(f cpuType) availability { return f.availability }, func(f cpuType, q sdk.OfferQuery) (sdk.Offer, bool) { return f.offer(q, least) })
}

// offer is one of the flavour, with no fewer vCPUs; the query's regions are data
// centres. A flavour without a price for pods is for Serverless alone.
func (f cpuType) offer(q sdk.OfferQuery, vcpus int) (sdk.Offer, bool) {
	vcpus = max(vcpus, powerOfTwo(float64(f.VCPU.Min)))
	if f.RAMPerVCPU > 0 {
		vcpus = max(vcpus, powerOfTwo(q.MemoryGB/f.RAMPerVCPU))
	}
	places, stock := f.within(q.Regions)
	id := choice{f.ID, vcpus, places}
	if _, err := parseChoice(id.String()); err != nil || f.Price.PerVCPU <= 0 || f.VCPU.Max > 0 && vcpus > f.VCPU.Max {
		return sdk.Offer{}, false
	}
	return sdk.Offer{
		ID:          id.String(),
		MemoryGB:    f.RAMPerVCPU * float64(vcpus),
		Region:      strings.Join(places, ","),
		CostPerHour: hourly(f.Price.PerVCPU*float64(vcpus), q.DiskGB),
		Stock:       stock,
	}, true
}

const mostVCPUs = 1 << 12 // more than any machine has

// powerOfTwo is the smallest one that is not below n: RunPod takes no other number.
func powerOfTwo(n float64) int {
	p := 1
	for float64(p) < n && p < mostVCPUs {
		p *= 2
	}
	return p
}

// hourly is the price of a machine with its disk, to a hundredth of a cent.
func hourly(compute float64, diskGB int) float64 {
	return math.Round((compute+float64(diskOf(diskGB))*diskPerHour)*1e4) / 1e4
}

// diskOf is what a machine gets, in GB.
func diskOf(wanted int) int {
	if wanted <= 0 {
		return defaultDisk
	}
	return wanted
}
