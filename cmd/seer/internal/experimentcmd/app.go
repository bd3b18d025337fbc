// Package experimentcmd has the commands that take an experiment file and make no lasting
// sandbox: writing, checking, planning, running and replaying it, and what they need here.
package experimentcmd

import (
	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }
