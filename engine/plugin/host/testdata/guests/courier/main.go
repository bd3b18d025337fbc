// Command courier is a provider that carries things over HTTP and gRPC: what, the
// options of an offer's query say. It tells all that it has seen on the way.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

// report is what an errand tells, as the ID of an offer.
type report map[string]any

// errand is something to be done, with what it may call.
type errand func(context.Context, road) (report, error)

// road is where things go.
type road struct{ http, grpc string }

var errands = map[string]errand{
	"settings":     settings,
	"echo":         echo,
	"events":       events,
	"redirect":     redirect,
	"refused":      refused,
	"timeout":      timeout,
	"give up":      giveUp,
	"secret":       secret,
	"patient":      patient,
	"asleep":       asleep,
	"linger":       linger,
	"lingered":     lingered,
	"unary":        unary,
	"streams":      streams,
	"many":         many,
	"interceptors": interceptors,
	"latency":      latency,
}

type provider struct{}

func (provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "courier", Title: "Courier"}, nil
}

func (provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	var what string
	if err := json.Unmarshal(q.Options, &what); err != nil {
		return nil, err
	}
	do := errands[what]
	if do == nil {
		return nil, sdk.Errorf(sdk.Invalid, "no errand is called %q", what)
	}
	r, err := do(ctx, road{guest.Setting("http_url"), guest.Setting("grpc_url")})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	text, err := json.Marshal(r)
	return []sdk.Offer{{ID: string(text)}}, err
}

func settings(context.Context, road) (report, error) {
	values, err := guest.Settings()
	return report{"settings": values, "unknown": guest.Setting("unknown"), "environment": os.Environ()}, err
}

// milliseconds is how long something took.
func milliseconds(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

func (provider) Create(context.Context, sdk.MachineSpec, json.RawMessage) (sdk.CreateStep, error) {
	return sdk.CreateStep{}, sdk.Errorf(sdk.Unsupported, "a courier has no machines")
}

// Snapshot needs two calls, to show that a cursor comes back.
func (provider) Snapshot(_ context.Context, handle, key string, cursor json.RawMessage) (sdk.SnapshotStep, error) {
	if cursor == nil {
		return sdk.SnapshotStep{Cursor: json.RawMessage(`"half"`), Log: []string{"copying " + handle}}, nil
	}
	return sdk.SnapshotStep{Image: key + " of " + handle + " after " + string(cursor)}, nil
}

func (provider) Observe(context.Context, []string) ([]sdk.Observation, error) { return nil, nil }
func (provider) List(context.Context, string) ([]sdk.Listed, error)           { return nil, nil }
func (provider) Terminate(context.Context, string) error                      { return nil }

var _ = guestprovider.Export(provider{})

//go:wasmexport provider_snapshot
func snapshot() int32 { return guest.ProviderSnapshot(provider{}) }

func main() {}
