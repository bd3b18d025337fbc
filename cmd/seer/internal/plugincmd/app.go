// Package plugincmd has the commands that install, allow and write plugins.
package plugincmd

import (
	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }
