// Command provider-kubernetes is the built-in plugin for pods of Kubernetes clusters.
package main

import (
	"context"

	"github.com/seer-engine/seer/plugins/provider-kubernetes/kubernetes"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestkube"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

var provider = &kubernetes.Provider{API: api{}}

// api is the host's way to clusters.
type api struct{ guestkube.Client }

func (a api) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body []byte) (kubernetes.Answer, error) {
	answer, err := a.Client.Do(ctx, contextName, r, body)
	return kubernetes.Answer(answer), err
}

func (a api) Exec(ctx context.Context, contextName string, e sdk.KubeExec) (kubernetes.Ended, error) {
	ended, err := a.Client.Exec(ctx, contextName, e, nil)
	return kubernetes.Ended(ended), err
}

func (a api) Contexts(name string) (sdk.KubeContexts, error) { return a.Client.Named(name) }

var _ = guestprovider.Export(provider)

//go:wasmexport provider_route
func route() int32 { return guest.ProviderRoute(provider) }

//go:wasmexport provider_check
func check() int32 { return guest.ProviderCheck(provider) }

//go:wasmexport provider_clean
func clean() int32 { return guest.ProviderClean(provider) }

func main() {}
