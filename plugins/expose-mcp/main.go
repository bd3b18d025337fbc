// Command expose-mcp is the built-in plugin for `expose_as: mcp`.
package main

import (
	"github.com/seer-engine/seer/plugins/expose-mcp/mcp"
	"github.com/seer-engine/seer/sdk/guest"
)

//go:wasmexport expose
func expose() int32 { return guest.Expose(mcp.Mode{}) }

func main() {}
