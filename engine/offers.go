package engine

import (
	"context"
	"slices"

	"github.com/seer-engine/seer/engine/offers"
	"github.com/seer-engine/seer/sdk"
)

// ProviderOffer is an offer and who makes it.
type ProviderOffer = offers.ProviderOffer

// Offers asks providers what can be had now, cheapest first. Without names it
// asks all that are installed, and this computer, unless the question is about regions. The error tells which could not be asked, or which
// name nobody has; the offers of the others are returned nevertheless. See
// [OfferQueries].
func (e *Engine) Offers(ctx context.Context, providers []string, queries []sdk.OfferQuery, progress Progress) ([]ProviderOffer, error) {
	if len(providers) == 0 {
		providers = e.plugins.Asked(ctx, queries)
	}
	e.plugins.Announce(ctx, providers, e.reporter(progress))
	found, err := offers.Merge(offers.Ask(ctx, e.driver.Offers, slices.Compact(providers), func(string) []sdk.OfferQuery { return queries }))
	return found, as(KindProvider, err)
}

// OfferQueries are the questions for any of several GPUs; without one, for machines
// without a GPU.
func OfferQueries(q sdk.OfferQuery, gpus []string) []sdk.OfferQuery { return offers.Queries(q, gpus) }

// Expose asks an expose mode (library, mcp, prompt or a plugin's) for the surface of an
// interface. Nothing is written; see package surface.
func (e *Engine) Expose(ctx context.Context, mode string, req sdk.ExposeRequest) (sdk.Surface, error) {
	return e.plugins.Expose(ctx, mode, req)
}
