// Package providerexports has the exports of the providers among the test guests.
package providerexports

import (
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

var provider sdk.Provider

// Of exports a provider. A guest calls it in the initial value of a variable, which is set
// before the host calls an export.
func Of(p sdk.Provider) bool {
	provider = p
	return true
}

//go:wasmexport provider_describe
func describe() int32 { return guest.ProviderDescribe(provider) }

//go:wasmexport provider_offers
func offers() int32 { return guest.ProviderOffers(provider) }

//go:wasmexport provider_create
func create() int32 { return guest.ProviderCreate(provider) }

//go:wasmexport provider_observe
func observe() int32 { return guest.ProviderObserve(provider) }

//go:wasmexport provider_list
func list() int32 { return guest.ProviderList(provider) }

//go:wasmexport provider_terminate
func terminate() int32 { return guest.ProviderTerminate(provider) }
