package modal

import (
	"cmp"
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/seer-engine/seer/sdk"
)

var _ sdk.Accounter = (*Provider)(nil)

// Account implements [sdk.Accounter]. A machine is seen with every token of its workspace
// where the environment is the same. The empty name is the workspace's own environment.
func (p *Provider) Account(ctx context.Context) (sdk.Account, error) {
	s, err := p.open()
	if err != nil {
		return sdk.Account{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	token, err := s.api.TokenInfoGet(ctx, &pb.TokenInfoGetRequest{})
	if err != nil {
		return sdk.Account{}, fault(ctx, "asking Modal for the workspace of the token", err)
	}
	workspace := cmp.Or(token.GetWorkspaceId(), token.GetWorkspaceName())
	if workspace == "" {
		return sdk.Account{}, sdk.Errorf(sdk.Unsupported, "Modal does not name the workspace of the token")
	}
	environment, err := s.api.EnvironmentGetOrCreate(ctx, pb.EnvironmentGetOrCreateRequest_builder{DeploymentName: s.environment}.Build())
	if err != nil {
		return sdk.Account{}, fault(ctx, "asking Modal for "+named(s.environment), err)
	}
	name := cmp.Or(environment.GetMetadata().GetName(), s.environment)
	return sdk.Account{ID: s.server.Host + "/" + workspace + "/" + name}, nil
}
