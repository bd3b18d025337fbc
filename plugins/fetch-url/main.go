// Command fetch-url is the built-in plugin for models at HTTPS addresses.
package main

import (
	"github.com/seer-engine/seer/plugins/fetch-url/link"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

var fetcher = link.Fetcher{Sender: guestapi.Host{KeepRedirects: true}}

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(fetcher) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(fetcher) }

func main() {}
