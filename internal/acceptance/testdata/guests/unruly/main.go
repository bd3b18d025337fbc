// Command unruly is an expose mode that misbehaves as the name of the service
// says.
package main

import (
	"context"
	"os"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

type mode struct{}

var kept [][]byte

func (mode) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	switch req.Name {
	case "panics":
		panic("boom")
	case "endless":
		for {
		}
	case "hungry":
		for {
			kept = append(kept, make([]byte, 16<<20))
		}
	case "exits":
		os.Exit(3)
	case "leaves":
		return sdk.Surface{Files: []sdk.SurfaceFile{{Path: "../../left.txt", Text: "x"}}}, nil
	}
	return sdk.Surface{Prompt: "behaves"}, nil
}

//go:wasmexport expose
func expose() int32 { return guest.Expose(mode{}) }

func main() {}
