// Package sandboxcmd has the commands about sandboxes: their life, and what is done in them.
package sandboxcmd

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct {
	*cli.App

	urlInArguments bool // for tests of attacks: the browser is given the URL itself
}

// Commands are the commands about sandboxes.
type Commands struct {
	Up, Ls, Show, Fork, Down, GC, Exec, Python, Shell, Cp, Forward, Open, Logs, Usage, Watch *cobra.Command
}

// New makes the commands.
func New(base *cli.App) Commands {
	a := app{App: base}
	return Commands{
		Up:      newUp(a),
		Ls:      newLs(a),
		Show:    newShow(a),
		Fork:    newFork(a),
		Down:    newDown(a),
		GC:      newGC(a),
		Exec:    newExec(a),
		Python:  newPython(a),
		Shell:   newShell(a),
		Cp:      newCp(a),
		Forward: newForward(a),
		Open:    newOpen(a),
		Logs:    newLogs(a),
		Usage:   newUsage(a),
		Watch:   newWatch(a),
	}
}
