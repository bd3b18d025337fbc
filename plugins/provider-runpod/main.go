// Command provider-runpod is the built-in plugin that rents machines on RunPod.
package main

import (
	"github.com/seer-engine/seer/plugins/provider-runpod/runpod"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

// provider lives as long as the instance, and with it what RunPod has said of its
// limits.
var provider = &runpod.Provider{Settings: guest.Settings, Transport: guesthttp.Transport{}}

var _ = guestprovider.Export(provider)

//go:wasmexport provider_account
func account() int32 { return guest.ProviderAccount(provider) }

func main() {}
