// Command shout is an expose mode that the engine has never heard of.
package main

import (
	"context"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

type mode struct{}

func (mode) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	var names []string
	for _, f := range req.Interface.Functions {
		names = append(names, strings.ToUpper(f.Name)+"!")
	}
	text := strings.Join(names, "\n")
	return sdk.Surface{Prompt: text, Files: []sdk.SurfaceFile{{Path: req.Name + ".txt", Text: text}}}, nil
}

//go:wasmexport expose
func expose() int32 { return guest.Expose(mode{}) }

func main() {}
