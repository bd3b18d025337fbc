// Command fetch-folder is the built-in plugin for models in local folders.
package main

import (
	"github.com/seer-engine/seer/plugins/fetch-folder/folder"
	"github.com/seer-engine/seer/sdk/guest"
)

func fetcher() folder.Fetcher {
	return folder.Fetcher{Open: func(path string) folder.FS { return guest.OpenFolder(path) }}
}

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(fetcher()) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(fetcher()) }

func main() {}
