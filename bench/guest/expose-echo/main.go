// Command expose-echo is the plugin whose calls are measured: it reads a request of
// 1 KiB and answers with as much.
package main

import (
	"context"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

type echo struct{}

func (echo) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	if req.Name == "sleep" {
		time.Sleep(300 * time.Millisecond)
	}
	return sdk.Surface{Prompt: req.Interface.Doc}, nil
}

//go:wasmexport expose
func expose() int32 { return guest.Expose(echo{}) }

func main() {}
