// Package offers asks several providers at once what can be had.
package offers

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

// Queries are the questions for any of several GPUs; without one, for machines without
// a GPU.
func Queries(q sdk.OfferQuery, gpus []string) []sdk.OfferQuery {
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

// Answer is what one provider answered to all its questions.
type Answer struct {
	Provider string
	Offers   []sdk.Offer
	Err      error
}

// Source asks one provider one question, such as the driver of machines does.
type Source func(ctx context.Context, provider string, q sdk.OfferQuery) ([]sdk.Offer, error)

// Ask asks all providers at once, and each one question after the other. The answers are
// in the order of the providers.
func Ask(ctx context.Context, ask Source, providers []string, queries func(provider string) []sdk.OfferQuery) []Answer {
	answers := make([]Answer, len(providers))
	var all sync.WaitGroup
	for i, name := range providers {
		answers[i].Provider = name
		all.Go(func() {
			answers[i].Offers, answers[i].Err = offersOf(ctx, ask, name, queries(name))
		})
	}
	all.Wait()
	return answers
}

func offersOf(ctx context.Context, ask Source, name string, queries []sdk.OfferQuery) ([]sdk.Offer, error) {
	var offers []sdk.Offer
	for _, q := range queries {
		some, err := ask(ctx, name, q)
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

// Merge is what was offered, cheapest first, and the errors of all that could not be asked.
func Merge(answers []Answer) ([]ProviderOffer, error) {
	offers := []ProviderOffer{}
	var errs []error
	for _, a := range answers {
		for _, o := range a.Offers {
			offers = append(offers, ProviderOffer{a.Provider, o})
		}
		if a.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.Provider, a.Err))
		}
	}
	slices.SortStableFunc(offers, func(a, b ProviderOffer) int {
		return cmp.Or(cmp.Compare(a.CostPerHour, b.CostPerHour), strings.Compare(a.Provider, b.Provider), strings.Compare(a.GPU, b.GPU))
	})
	return offers, errors.Join(errs...)
}
