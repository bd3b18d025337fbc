// Command provider-modal is the built-in plugin that rents machines on Modal.
package main

import (
	"log/slog"
	"os"

	"google.golang.org/grpc"

	"github.com/seer-engine/seer/plugins/provider-modal/modal"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestgrpc"
)

// provider lives as long as the instance, and with it the token for Modal's calls.
var provider = &modal.Provider{
	Settings: guest.Settings,
	Dial:     func(target string) (grpc.ClientConnInterface, error) { return guestgrpc.Conn{Target: target}, nil },
	Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
}

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

//go:wasmexport provider_account
func account() int32 { return guest.ProviderAccount(provider) }

//go:wasmexport provider_snapshot
func snapshot() int32 { return guest.ProviderSnapshot(provider) }

func main() {}
