// Package callcmd has the commands that serve functions and call them, and their tokens.
package callcmd

import (
	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }
