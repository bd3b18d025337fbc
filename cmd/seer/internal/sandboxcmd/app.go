// Package sandboxcmd has the commands about sandboxes: their life, and what is done in them.
package sandboxcmd

import (
	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct {
	*cli.App

	urlInArguments bool // for tests of attacks: the browser is given the URL itself
}
