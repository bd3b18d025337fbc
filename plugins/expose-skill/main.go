// Command expose-skill is the built-in plugin for `expose_as: skill`.
package main

import (
	"github.com/seer-engine/seer/plugins/expose-skill/skill"
	"github.com/seer-engine/seer/sdk/guest"
)

//go:wasmexport expose
func expose() int32 { return guest.Expose(skill.Mode{}) }

func main() {}
