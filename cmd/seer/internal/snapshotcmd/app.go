// Package snapshotcmd has the commands that save sandboxes and manage what was saved.
package snapshotcmd

import (
	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }
