// Command fetch-index is the plugin for models in plain HTTPS folders.
package main

import (
	"github.com/seer-engine/seer/examples/plugins/fetch-index/index"
	"github.com/seer-engine/seer/sdk/guest"
)

func server() *index.Fetcher { return index.New(guest.Setting("url")) }

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(server()) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(server()) }

func main() {}
