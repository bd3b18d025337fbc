package modal

import (
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/seer-engine/seer/sdk"
)

// cpuOffer is the ID of a machine without a GPU.
const cpuOffer = "cpu"

// Offers implements [sdk.Provider]. It finds a wrong token before anything is rented.
// Modal does not tell what is free.
func (p *Provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	if _, err := parseOptions(q.Options); err != nil {
		return nil, err
	}
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := s.environmentBuilder(ctx); err != nil {
		return nil, err
	}
	list, err := s.priceList(ctx)
	if err != nil {
		return nil, err
	}
	return list.offers(q), nil
}

// environmentBuilder asks for the version of the environment's image builder. It
// needs a good token and an environment that exists.
func (s *session) environmentBuilder(ctx context.Context) (string, error) {
	answer, err := s.api.EnvironmentGetOrCreate(ctx, pb.EnvironmentGetOrCreateRequest_builder{
		DeploymentName: s.environment,
	}.Build())
	if err != nil {
		return "", fault(ctx, "asking Modal for "+named(s.environment), err)
	}
	return answer.GetMetadata().GetSettings().GetImageBuilderVersion(), nil
}

func named(environment string) string {
	if environment == "" {
		return "the workspace's environment"
	}
	return "the environment " + environment
}

func (l priceList) offers(q sdk.OfferQuery) []sdk.Offer {
	offer := sdk.Offer{ID: cpuOffer, MemoryGB: q.MemoryGB}
	if len(q.Regions) == 1 {
		offer.Region = q.Regions[0]
	}
	if q.GPU == "" {
		offer.CostPerHour = l.machine(0, 0, q.CPU, q.MemoryGB, q.Regions)
		return []sdk.Offer{offer}
	}
	var out []sdk.Offer
	count := max(q.GPUCount, 1)
	for _, c := range l.choices(q.GPU) {
		if count > c.Max {
			continue
		}
		o := offer
		o.ID, o.GPU, o.GPUCount, o.GPUMemoryGB = c.ID, c.Name, count, c.MemoryGB
		o.CostPerHour = l.machine(c.Hour, count, q.CPU, q.MemoryGB, q.Regions)
		out = append(out, o)
	}
	return out
}
