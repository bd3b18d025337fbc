// Command provider-runpod is the built-in plugin that rents machines on RunPod.
package main

import (
	"github.com/seer-engine/seer/plugins/provider-runpod/runpod"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
)

// provider lives as long as the instance, and with it what RunPod has said of its
// limits.
var provider = &runpod.Provider{Settings: guest.Settings, Transport: guesthttp.Transport{}}

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

//go:wasmexport provider_account
func account() int32 { return guest.ProviderAccount(provider) }

func main() {}
