// Command fetch-oci is the built-in plugin for models in OCI registries.
package main

import (
	"github.com/seer-engine/seer/plugins/fetch-oci/artifact"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// fetcher lives as long as the instance, and with it tokens and manifests.
var fetcher = artifact.New(artifact.Options{
	Sender:   guestapi.Host{KeepRedirects: true},
	Registry: guest.Setting("registry"), Origins: guest.Setting(sdk.SettingModelOrigins),
})

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(fetcher) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(fetcher) }

func main() {}
