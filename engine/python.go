package engine

import (
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/sdk"
)

// Python is the interpreter of local sandboxes.
func (e *Engine) Python() (isolation.Interpreter, error) {
	p, err := e.python.Default()
	return p, as(KindConfig, err)
}

// shown are the folders of an interpreter that a machine must see, beyond the system's.
func shown(i isolation.Interpreter, c plan.Choice) []sdk.Mount {
	var mounts []sdk.Mount
	for _, path := range i.Paths {
		if c.Layered() && !strings.HasPrefix(path, "/usr/") {
			mounts = append(mounts, sdk.Mount{Source: path, Target: path})
		}
	}
	return mounts
}
