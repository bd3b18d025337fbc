package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/doctor"
)

// Finding is one thing that [Engine.Doctor] looked at.
type Finding = doctor.Finding

// Doctor looks at everything this computer needs for sandboxes and agents. It
// changes nothing; [Engine.Fix] does.
func (e *Engine) Doctor(ctx context.Context) []Finding { return e.doctor.Check(ctx) }

// Fix installs what [Engine.Doctor] misses and Seer can install: bubblewrap and what
// connects networks with the system's packages, gVisor and code-server into its own folder of tools. It returns
// what Doctor finds afterwards. What could not be installed has the reason as its Fix,
// and is an error of [KindProvider]. Where nothing is missing, it changes nothing.
func (e *Engine) Fix(ctx context.Context, progress Progress) ([]Finding, error) {
	return e.doctor.Fix(ctx, progress)
}
