// Command fetch-huggingface is the built-in plugin for models and datasets of the Hugging
// Face Hub.
package main

import (
	"github.com/seer-engine/seer/plugins/fetch-huggingface/hub"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// fetcher lives as long as the instance, and with it which repositories need a token.
var fetcher = newFetcher()

func newFetcher() *hub.Fetcher {
	f := hub.New(guest.Setting("endpoint"), guestapi.Host{KeepRedirects: true})
	f.DisableXet(guest.Setting("disable_xet"))
	return f
}

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(fetcher) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(fetcher) }

func main() {}
