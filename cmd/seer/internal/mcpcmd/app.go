// Package mcpcmd has the command that serves functions, notebooks and sandboxes as MCP tools.
package mcpcmd

import (
	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }
