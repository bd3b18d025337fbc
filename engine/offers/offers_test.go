package offers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seer-engine/seer/engine/offers"
	"github.com/seer-engine/seer/sdk"
)

// Each provider is asked for each GPU, an offer counts once, the cheapest is first, and a
// provider that fails hides none of the others.
func TestAskAndMerge(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	ask := func(_ context.Context, provider string, q sdk.OfferQuery) ([]sdk.Offer, error) {
		switch provider {
		case "broken":
			return nil, down
		case "dear":
			return []sdk.Offer{{GPU: q.GPU, CostPerHour: 3}}, nil
		}
		return []sdk.Offer{{GPU: "any", CostPerHour: 1}}, nil
	}
	queries := offers.Queries(sdk.OfferQuery{GPUCount: 2}, []string{"H100", "A100"})
	if len(queries) != 2 || queries[1].GPU != "A100" || queries[1].GPUCount != 2 {
		t.Fatalf("%+v", queries)
	}
	answers := offers.Ask(t.Context(), ask, []string{"dear", "broken", "cheap"}, func(string) []sdk.OfferQuery { return queries })
	found, err := offers.Merge(answers)
	if !errors.Is(err, down) || len(found) != 3 || found[0].Provider != "cheap" || found[1].GPU != "A100" || found[2].GPU != "H100" {
		t.Errorf("%+v, %v", found, err)
	}
	if none := offers.Queries(sdk.OfferQuery{GPUCount: 2}, nil); len(none) != 1 || none[0].GPUCount != 0 {
		t.Errorf("without a GPU: %+v", none)
	}
}
