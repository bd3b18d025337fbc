package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seer-engine/seer/sdk"
)

// ProviderOffer is an offer and who makes it.
type ProviderOffer struct {
	Provider string `json:"provider"`
	sdk.Offer
}

// Offers asks providers what can be had now, cheapest first. Without names it
// asks all that are installed, and this computer, unless the question is about regions. The error tells which could not be asked, or which
// name nobody has; the offers of the others are returned nevertheless. See
// [OfferQueries].
func (e *Engine) Offers(ctx context.Context, providers []string, queries []sdk.OfferQuery, progress Progress) ([]ProviderOffer, error) {
	if len(providers) == 0 {
		plugins, broken := e.Plugins(ctx)
		for _, err := range broken {
			e.log.Warn("a plugin cannot be used", "error", err)
		}
		providers = e.plugins.Providers(plugins)
		if !slices.ContainsFunc(queries, func(q sdk.OfferQuery) bool { return len(q.Regions) > 0 }) {
			providers = append(providers, localName)
		}
		slices.Sort(providers)
	}
	e.plugins.Announce(ctx, providers, e.reporter(progress))
	answers := e.askOffers(ctx, slices.Compact(providers), func(string) []sdk.OfferQuery { return queries })
	offers := []ProviderOffer{}
	var errs []error
	for _, a := range answers {
		for _, o := range a.offers {
			offers = append(offers, ProviderOffer{a.provider, o})
		}
		if a.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.provider, a.err))
		}
	}
	slices.SortStableFunc(offers, func(a, b ProviderOffer) int {
		return cmp.Or(cmp.Compare(a.CostPerHour, b.CostPerHour), strings.Compare(a.Provider, b.Provider), strings.Compare(a.GPU, b.GPU))
	})
	return offers, as(KindProvider, errors.Join(errs...))
}

// OfferQueries are the questions for any of several GPUs; without one, for machines
// without a GPU.
func OfferQueries(q sdk.OfferQuery, gpus []string) []sdk.OfferQuery {
	if len(gpus) == 0 {
		q.GPU, q.GPUCount = "", 0
		return []sdk.OfferQuery{q}
	}
	var all []sdk.OfferQuery
	for _, gpu := range gpus {
		q.GPU = gpu
		all = append(all, q)
	}
	return all
}

// offered is what one provider answered.
type offered struct {
	provider string
	offers   []sdk.Offer
	err      error
}

// askOffers asks all at once, and each one question after the other.
func (e *Engine) askOffers(ctx context.Context, providers []string, queries func(provider string) []sdk.OfferQuery) []offered {
	answers := make([]offered, len(providers))
	var all sync.WaitGroup
	for i, name := range providers {
		answers[i].provider = name
		all.Go(func() {
			answers[i].offers, answers[i].err = e.offersOf(ctx, name, queries(name))
		})
	}
	all.Wait()
	return answers
}

func (e *Engine) offersOf(ctx context.Context, name string, queries []sdk.OfferQuery) ([]sdk.Offer, error) {
	var offers []sdk.Offer
	for _, q := range queries {
		some, err := e.driver.Offers(ctx, name, q)
		if err != nil {
			return nil, err
		}
		for _, o := range some {
			if !slices.Contains(offers, o) {
				offers = append(offers, o)
			}
		}
	}
	return offers, nil
}
