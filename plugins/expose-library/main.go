// Command expose-library is the built-in plugin for `expose_as: library`.
package main

import (
	"github.com/seer-engine/seer/plugins/expose-library/library"
	"github.com/seer-engine/seer/sdk/guest"
)

//go:wasmexport expose
func expose() int32 { return guest.Expose(library.Mode{}) }

func main() {}
