package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// offersPatience is short: somebody waits for the list, and nothing is at stake.
const offersPatience = 20 * time.Second

// Offers asks a provider what can be rented now; passing faults are tried again for
// some seconds.
func (d *Driver) Offers(ctx context.Context, provider string, q sdk.OfferQuery) ([]sdk.Offer, error) {
	p, err := d.Providers(ctx, provider)
	if err != nil {
		return nil, fmt.Errorf("the provider %q: %w", provider, err)
	}
	again := &retrier{next: p, clock: d.Clock, limit: offersPatience, notify: func(_ string, wait time.Duration, err error) {
		d.Logger.Warn("asking for offers failed in passing", "provider", provider, "wait", wait.Round(100*time.Millisecond), "error", err)
	}}
	return again.Offers(ctx, q)
}
