// Command pretend is a provider that the engine has never heard of. Its machines
// are processes that somebody else runs: where they are comes with the spec.
package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

type provider struct{}

func (provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "pretend", Title: "Pretend cloud", Features: []sdk.Feature{sdk.FeatureTags, sdk.FeatureSelfEnd}}, nil
}

func (provider) Offers(context.Context, sdk.OfferQuery) ([]sdk.Offer, error) {
	return []sdk.Offer{{ID: "pretend-cpu", CostPerHour: 0.5, Stock: "high"}}, nil
}

type cursor struct {
	Step int `json:"step"`
}

// Create needs two calls, as a cloud that queues does. The handle carries all that
// is known: instances come and go and share nothing.
func (provider) Create(_ context.Context, spec sdk.MachineSpec, raw json.RawMessage) (sdk.CreateStep, error) {
	var options struct {
		Endpoint string `json:"endpoint"`
	}
	if len(spec.Options) > 0 {
		if err := json.Unmarshal(spec.Options, &options); err != nil {
			return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "options: %v", err)
		}
	}
	if options.Endpoint == "" {
		options.Endpoint = spec.Labels["endpoint"]
	}
	if options.Endpoint == "" {
		return sdk.CreateStep{}, sdk.Errorf(sdk.NoCapacity, "nothing is running for %s; name its endpoint", spec.Key)
	}
	if raw == nil {
		next, err := json.Marshal(cursor{Step: 1})
		return sdk.CreateStep{Cursor: next, Log: []string{"queued " + spec.Key}, AfterSeconds: 0.01}, err
	}
	guest.Infof("rented %s", spec.Key)
	return sdk.CreateStep{Handle: strings.Join([]string{spec.Owner, spec.Key, options.Endpoint}, "|"), Log: []string{"rented " + spec.Key}}, nil
}

func (provider) Observe(_ context.Context, handles []string) ([]sdk.Observation, error) {
	var out []sdk.Observation
	for _, h := range handles {
		parts := strings.SplitN(h, "|", 3)
		if len(parts) != 3 {
			out = append(out, sdk.Observation{Handle: h, State: sdk.Stopped})
			continue
		}
		out = append(out, sdk.Observation{Handle: h, State: sdk.Running, CostPerHour: 0.5,
			Endpoints: []sdk.Endpoint{{URL: parts[2]}}})
	}
	return out, nil
}

func (provider) List(context.Context, string) ([]sdk.Listed, error) { return nil, nil }
func (provider) Terminate(context.Context, string) error            { return nil }

// Check finds what the options say.
func (provider) Check(_ context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	var options struct {
		Findings []sdk.Finding `json:"findings"`
		Repeat   int           `json:"repeat"`
	}
	if err := json.Unmarshal(q.Options, &options); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "options: %v", err)
	}
	found := options.Findings
	for range options.Repeat {
		found = append(found, options.Findings...)
	}
	return found, nil
}

// Clean removes what the options say.
func (provider) Clean(_ context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	var options struct {
		Cleaned []sdk.Cleaned `json:"cleaned"`
	}
	if err := json.Unmarshal(in.Options, &options); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "options: %v", err)
	}
	return options.Cleaned, nil
}

//go:wasmexport provider_check
func check() int32 { return guest.ProviderCheck(provider{}) }

//go:wasmexport provider_clean
func clean() int32 { return guest.ProviderClean(provider{}) }

var _ = guestprovider.Export(provider{})

func main() {}
