package ssh

import (
	"context"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// Offers implements [sdk.Provider]: those of all hosts, in the order of the hosts. A host that
// cannot be asked is left out while another one answers.
func (p *Provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	hosts, err := p.hosts(q.Options)
	if err != nil {
		return nil, err
	}
	if len(q.Regions) > 0 {
		hosts = slices.DeleteFunc(hosts, func(host string) bool { return !slices.Contains(q.Regions, host) })
	}
	q.Options, q.Regions = nil, nil
	answers := askAll[[]sdk.Offer](ctx, p, hosts, "offers", func(string) any { return q })
	var all []sdk.Offer
	silent := 0
	for _, a := range answers {
		if a.err != nil {
			silent++
		}
		for _, o := range a.out {
			o.ID, o.Region = join(a.host, o.ID), a.host
			all = append(all, o)
		}
	}
	if silent > 0 && len(all) == 0 {
		return nil, failed(answers)
	}
	return all, nil
}
