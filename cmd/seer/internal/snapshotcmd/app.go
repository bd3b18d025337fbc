// Package snapshotcmd has the commands that save sandboxes and manage what was saved.
package snapshotcmd

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }

// Commands are the commands that save sandboxes.
type Commands struct {
	Snapshot, Snapshots *cobra.Command
}

// New makes the commands.
func New(base *cli.App) Commands {
	a := app{App: base}
	return Commands{
		Snapshot:  newSnapshot(a),
		Snapshots: newSnapshots(a),
	}
}
