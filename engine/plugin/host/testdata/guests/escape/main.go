// Command escape tries to do what a plugin must not be able to: what, the options say.
// It runs in the real host and in a naive one, which has the same functions.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

// order is what to try, with what.
type order struct {
	Do       string         `json:"do"`
	Text     string         `json:"text"`
	URL      string         `json:"url"`
	N        int64          `json:"n"`
	Offsets  []int64        `json:"offsets"`
	Requests []sdk.HTTPOpen `json:"requests"`
}

type attempt func(order) (any, error)

// attempts that a naive host does not stop, and those on the functions of ours.
var attempts = map[string]attempt{
	"get by extism": getByExtism,
	"read":          read,
	"look":          look,
	"grow":          grow,
	"spin":          spin,
	"flood":         flood,
	"uuid":          uuid,
	"remember":      remember,
	"huge":          huge,
	"log":           logText,
	"fail":          fail,

	"get":      get,
	"requests": requests,
	"offsets":  offsets,
	"forge":    forge,
	"block":    bigBlock,
	"open":     openMany,
	"churn":    churn,
	"meddle":   meddle,
	"glut":     glut,
}

type mode struct{}

// Expose tells what came of it, as the prompt.
func (mode) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	var o order
	if err := json.Unmarshal(req.Options, &o); err != nil {
		return sdk.Surface{}, err
	}
	try := attempts[o.Do]
	if try == nil {
		return sdk.Surface{}, sdk.Errorf(sdk.Invalid, "no attempt is called %q", o.Do)
	}
	got, err := try(o)
	if err != nil {
		return sdk.Surface{}, err
	}
	text, ok := got.(string)
	if !ok {
		raw, err := json.Marshal(got)
		if err != nil {
			return sdk.Surface{}, err
		}
		text = string(raw)
	}
	return sdk.Surface{Prompt: text}, nil
}

// provider answers with what does not belong into a ledger.
type provider struct{}

func (provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "escape", Title: "Escape"}, nil
}
func (provider) Offers(context.Context, sdk.OfferQuery) ([]sdk.Offer, error) { return nil, nil }

func (provider) Create(_ context.Context, spec sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	var o order
	if err := json.Unmarshal(spec.Options, &o); err != nil {
		return sdk.CreateStep{}, err
	}
	switch o.Do {
	case "handle":
		return sdk.CreateStep{Handle: filled(o.N)}, nil
	case "cursor":
		return sdk.CreateStep{Cursor: json.RawMessage(`"` + filled(o.N) + `"`)}, nil
	case "text":
		return sdk.CreateStep{Handle: o.Text}, nil
	}
	return sdk.CreateStep{}, fmt.Errorf("no attempt is called %q", o.Do)
}

func (provider) Observe(context.Context, []string) ([]sdk.Observation, error) { return nil, nil }
func (provider) List(context.Context, string) ([]sdk.Listed, error)           { return nil, nil }
func (provider) Terminate(context.Context, string) error                      { return nil }

// fetcher reads a file, and later tells what it has read before.
type fetcher struct{}

func (fetcher) Resolve(_ context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	folder, path, isFile := strings.Cut(ref.Name, ":")
	if !isFile {
		return sdk.ResolvedModel{Revision: "r", Name: secret}, nil
	}
	data, err := guest.OpenFolder(folder).ReadFile(path)
	secret = string(data)
	return sdk.ResolvedModel{Revision: "r"}, err
}

func (fetcher) Locate(context.Context, sdk.FileRef) (sdk.Location, error) {
	return sdk.Location{}, sdk.Errorf(sdk.Unsupported, "no")
}

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(fetcher{}) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(fetcher{}) }

//go:wasmexport expose
func expose() int32 { return guest.Expose(mode{}) }

var _ = guestprovider.Export(provider{})

func main() {}
