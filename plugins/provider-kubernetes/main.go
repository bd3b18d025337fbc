// Command provider-kubernetes is the built-in plugin for pods of Kubernetes clusters.
package main

import (
	"context"

	"github.com/seer-engine/seer/plugins/provider-kubernetes/kubernetes"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestkube"
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
