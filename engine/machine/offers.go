package machine

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

// Offers asks a provider what can be rented now; passing faults are tried again.
func (d *Driver) Offers(ctx context.Context, provider string, q sdk.OfferQuery) ([]sdk.Offer, error) {
	p, err := d.provider(ctx, provider, func(string) {})
	if err != nil {
		return nil, err
	}
	return p.Offers(ctx, q)
}
