// Package guestprovider exports the functions that every provider has. A plugin exports the optional
// ones, such as provider_route, itself.
package guestprovider

import (
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

var provider sdk.Provider

// Export exports a provider. A plugin calls it in the initial value of a variable, because the host
// calls no main. The result has no meaning.
func Export(p sdk.Provider) bool {
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
