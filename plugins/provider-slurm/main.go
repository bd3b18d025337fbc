// Command provider-slurm is the built-in plugin for jobs of Slurm clusters.
package main

import (
	"github.com/seer-engine/seer/plugins/provider-slurm/slurm"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

var provider = &slurm.Provider{Settings: guest.Settings, Runner: guestssh.Client{}}

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

//go:wasmexport provider_route
func route() int32 { return guest.ProviderRoute(provider) }

//go:wasmexport provider_check
func check() int32 { return guest.ProviderCheck(provider) }

//go:wasmexport provider_clean
func clean() int32 { return guest.ProviderClean(provider) }

func main() {}
