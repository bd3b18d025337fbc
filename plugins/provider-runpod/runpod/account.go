package runpod

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

var _ sdk.Accounter = (*Provider)(nil)

// Account implements [sdk.Accounter]. All keys of a user see the same pods. RunPod's newer
// API does not tell the user, and a restricted key may not ask the older one.
func (p *Provider) Account(ctx context.Context) (sdk.Account, error) {
	c, err := p.open()
	if err != nil {
		return sdk.Account{}, err
	}
	var answer struct {
		Data struct {
			Myself struct {
				ID string `json:"id"`
			} `json:"myself"`
		} `json:"data"`
	}
	err = c.do(ctx, call{
		doing: "asking for the user", method: "POST", root: true, path: "/graphql",
		body: map[string]string{"query": "query { myself { id } }"},
	}, &answer)
	if err != nil {
		return sdk.Account{}, err
	}
	if answer.Data.Myself.ID == "" {
		return sdk.Account{}, sdk.Errorf(sdk.Unsupported, "RunPod does not name the user of the key")
	}
	return sdk.Account{ID: c.api + "/" + answer.Data.Myself.ID}, nil
}
