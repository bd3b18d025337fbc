// Package callcmd has the commands that serve functions and call them, and their tokens.
package callcmd

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }

// Commands are the commands that serve functions and call them.
type Commands struct {
	Serve, Call, Calls, Token *cobra.Command
}

// New makes the commands.
func New(base *cli.App) Commands {
	a := app{App: base}
	return Commands{
		Serve: newServe(a),
		Call:  newCall(a),
		Calls: newCalls(a),
		Token: newToken(a),
	}
}
