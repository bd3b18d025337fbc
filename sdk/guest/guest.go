// Package guest turns an implementation of a contract into a Wasm plugin. It is
// the only package that knows the Extism PDK.
//
// A plugin's main.go names the functions that it exports, one line each, and
// nothing else; the implementation lives in a plain package that is tested
// natively:
//
//	package main
//
//	import (
//		"github.com/seer-engine/seer/sdk/guest"
//		"example.org/shout"
//	)
//
//	//go:wasmexport expose
//	func expose() int32 { return guest.Expose(shout.Mode{}) }
//
//	func main() {} // never runs: the module is a library
//
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared
//
// or with the command sdk/seer-pack, which also embeds the manifest. There is
// no registration: what the file exports is what the plugin does.
package guest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/seer-engine/seer/sdk"
	running "github.com/seer-engine/seer/sdk/guest/internal/call"
)

// Expose implements the export "expose".
func Expose(e sdk.Exposer) int32 { return call(e.Expose) }

// FetcherResolve implements the export "fetcher_resolve".
func FetcherResolve(f sdk.Fetcher) int32 { return call(f.Resolve) }

// FetcherLocate implements the export "fetcher_locate".
func FetcherLocate(f sdk.Fetcher) int32 { return call(f.Locate) }

// ProviderDescribe implements the export "provider_describe".
func ProviderDescribe(p sdk.Provider) int32 {
	return call(func(ctx context.Context, _ struct{}) (sdk.ProviderInfo, error) { return p.Describe(ctx) })
}

// ProviderOffers implements the export "provider_offers".
func ProviderOffers(p sdk.Provider) int32 { return call(p.Offers) }

// ProviderCreate implements the export "provider_create".
func ProviderCreate(p sdk.Provider) int32 {
	return call(func(ctx context.Context, in sdk.CreateInput) (sdk.CreateStep, error) {
		return p.Create(ctx, in.Spec, in.Cursor)
	})
}

// ProviderObserve implements the export "provider_observe".
func ProviderObserve(p sdk.Provider) int32 {
	return call(func(ctx context.Context, in sdk.ObserveInput) ([]sdk.Observation, error) {
		return p.Observe(ctx, in.Handles)
	})
}

// ProviderList implements the export "provider_list".
func ProviderList(p sdk.Provider) int32 {
	return call(func(ctx context.Context, in sdk.ListInput) ([]sdk.Listed, error) { return p.List(ctx, in.Owner) })
}

// ProviderTerminate implements the export "provider_terminate".
func ProviderTerminate(p sdk.Provider) int32 {
	return call(func(ctx context.Context, in sdk.TerminateInput) (struct{}, error) {
		return struct{}{}, p.Terminate(ctx, in.Handle)
	})
}

// ProviderAccount implements the export "provider_account".
func ProviderAccount(p sdk.Accounter) int32 {
	return call(func(ctx context.Context, _ struct{}) (sdk.Account, error) { return p.Account(ctx) })
}

// ProviderRoute implements the export "provider_route".
func ProviderRoute(p sdk.Router) int32 {
	return call(func(ctx context.Context, in sdk.RouteInput) (sdk.Route, error) {
		return p.Route(ctx, in.Handle, in.Port)
	})
}

// ProviderCheck implements the export "provider_check".
func ProviderCheck(p sdk.Checker) int32 { return call(p.Check) }

// ProviderClean implements the export "provider_clean".
func ProviderClean(p sdk.Cleaner) int32 { return call(p.Clean) }

// ProviderSnapshot implements the export "provider_snapshot".
func ProviderSnapshot(p sdk.Snapshotter) int32 {
	return call(func(ctx context.Context, in sdk.SnapshotInput) (sdk.SnapshotStep, error) {
		return p.Snapshot(ctx, in.Handle, in.Key, in.Cursor)
	})
}

// call runs one export: input, function, output. A panic is left alone: it ends
// this instance, and the host reports it and makes another.
//
// The context of f ends with the call, and when the host gives the call up, which a
// plugin with streams learns at once. The host enforces both, and all time limits,
// by ending the instance.
func call[In, Out any](f func(context.Context, In) (Out, error)) int32 {
	in := input()
	ctx, end := running.Instance.Begin()
	defer end()
	output(answer(ctx, in, f))
	return 0
}

// answer is call without the host.
func answer[In, Out any](ctx context.Context, raw []byte, f func(context.Context, In) (Out, error)) []byte {
	var in In
	if err := json.Unmarshal(raw, &in); err != nil {
		return failure(sdk.Errorf(sdk.Invalid, "the input is not what this plugin expects: %v", err))
	}
	out, err := f(ctx, in)
	if err != nil {
		return failure(err)
	}
	ok, err := json.Marshal(out)
	if err != nil {
		return failure(sdk.Errorf(sdk.Internal, "the result cannot be written as JSON: %v", err))
	}
	return envelope(sdk.Envelope{OK: ok})
}

func failure(err error) []byte {
	var e *sdk.Error
	if !errors.As(err, &e) {
		e = &sdk.Error{Code: sdk.Internal}
	}
	// The outer message says more than the error it wraps.
	return envelope(sdk.Envelope{Error: &sdk.Error{Code: e.Code, Message: err.Error(), Seconds: e.Seconds}})
}

func envelope(e sdk.Envelope) []byte {
	b, err := json.Marshal(e)
	if err != nil { // OK is valid JSON and Error is plain: cannot happen
		panic(err)
	}
	return b
}
