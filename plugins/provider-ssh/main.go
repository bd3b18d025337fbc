// Command provider-ssh is the built-in plugin for machines that the user reaches by SSH.
package main

import (
	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/plugins/provider-ssh/ssh"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

var provider = &ssh.Provider{Hosts: bare.Hosts{Settings: guest.Settings, Runner: guestssh.Client{}}}

var _ = guestprovider.Export(provider)

//go:wasmexport provider_route
func route() int32 { return guest.ProviderRoute(provider) }

//go:wasmexport provider_check
func check() int32 { return guest.ProviderCheck(provider) }

//go:wasmexport provider_clean
func clean() int32 { return guest.ProviderClean(provider) }

func main() {}
