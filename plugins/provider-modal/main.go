// Command provider-modal is the built-in plugin that rents machines on Modal.
package main

import (
	"log/slog"
	"os"

	"google.golang.org/grpc"

	"github.com/seer-engine/seer/plugins/provider-modal/modal"
	"github.com/seer-engine/seer/sdk/guest"
	"github.com/seer-engine/seer/sdk/guest/guestgrpc"
	"github.com/seer-engine/seer/sdk/guest/guestprovider"
)

// provider lives as long as the instance, and with it the token for Modal's calls.
var provider = &modal.Provider{
	Settings: guest.Settings,
	Dial:     func(target string) (grpc.ClientConnInterface, error) { return guestgrpc.Conn{Target: target}, nil },
	Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
}

var _ = guestprovider.Export(provider)

//go:wasmexport provider_account
func account() int32 { return guest.ProviderAccount(provider) }

//go:wasmexport provider_snapshot
func snapshot() int32 { return guest.ProviderSnapshot(provider) }

func main() {}
