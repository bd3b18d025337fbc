// Package experimentcmd has the commands that take an experiment file and make no lasting
// sandbox: writing, checking, planning, running and replaying it, and what they need here.
package experimentcmd

import (
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// app has the work of the commands as its methods.
type app struct{ *cli.App }

// Commands are the commands that take an experiment file.
type Commands struct {
	Init, Run, Plan, Offers, Replay, Config, Doctor *cobra.Command
}

// New makes the commands.
func New(base *cli.App) Commands {
	a := app{App: base}
	return Commands{
		Init:   newInit(a),
		Run:    newRun(a),
		Plan:   newPlan(a),
		Offers: newOffers(a),
		Replay: newReplay(a),
		Config: newConfig(a),
		Doctor: newDoctor(a),
	}
}
