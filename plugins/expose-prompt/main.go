// Command expose-prompt is the built-in plugin for `expose_as: prompt`.
package main

import (
	"github.com/seer-engine/seer/plugins/expose-prompt/prompt"
	"github.com/seer-engine/seer/sdk/guest"
)

//go:wasmexport expose
func expose() int32 { return guest.Expose(prompt.Mode{}) }

func main() {}
