// Command provider-pond is the plugin that rents machines on Pond.
package main

import (
	"github.com/seer-engine/seer/examples/plugins/provider-pond/pond"
	"github.com/seer-engine/seer/sdk/guest"
)

func cloud() *pond.Provider { return pond.New(guest.Setting("url")) }

//go:wasmexport provider_describe
func describe() int32 { return guest.ProviderDescribe(cloud()) }

//go:wasmexport provider_offers
func offers() int32 { return guest.ProviderOffers(cloud()) }

//go:wasmexport provider_create
func create() int32 { return guest.ProviderCreate(cloud()) }

//go:wasmexport provider_observe
func observe() int32 { return guest.ProviderObserve(cloud()) }

//go:wasmexport provider_list
func list() int32 { return guest.ProviderList(cloud()) }

//go:wasmexport provider_terminate
func terminate() int32 { return guest.ProviderTerminate(cloud()) }

func main() {}
