// Command lent is a provider that the core has never heard of. Its machines are
// started by a test, which reads in the log what they must be. The name of the
// sandbox says where: port-12345.
package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

type provider struct{}

func (provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "lent", Title: "Lent machines", Features: []sdk.Feature{sdk.FeatureTags, sdk.FeatureSelfEnd}}, nil
}

func (provider) Offers(context.Context, sdk.OfferQuery) ([]sdk.Offer, error) {
	return []sdk.Offer{{ID: "lent"}}, nil
}

// Create needs two calls, as a cloud that queues does.
func (provider) Create(_ context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	if cursor == nil {
		return sdk.CreateStep{Cursor: json.RawMessage(`1`), Log: []string{"queued"}, AfterSeconds: 0.01}, nil
	}
	text, err := json.Marshal(map[string]any{"command": spec.Command, "env": spec.Env})
	return sdk.CreateStep{Handle: strings.TrimPrefix(spec.Name, "port-"), Log: []string{"LENT " + string(text)}}, err
}

func (provider) Observe(_ context.Context, handles []string) ([]sdk.Observation, error) {
	var out []sdk.Observation
	for _, h := range handles {
		out = append(out, sdk.Observation{Handle: h, State: sdk.Running,
			Endpoints: []sdk.Endpoint{{Port: 8717, URL: "http://127.0.0.1:" + h}}})
	}
	return out, nil
}

func (provider) List(context.Context, string) ([]sdk.Listed, error) { return nil, nil }
func (provider) Terminate(context.Context, string) error            { return nil }

var _ = guestprovider.Export(provider{})

func main() {}
