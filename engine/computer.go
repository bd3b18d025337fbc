package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/doctor"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/surface"
)

// Finding is one thing that [Engine.Doctor] looked at.
type Finding = doctor.Finding

// RunDirs makes the private folders that runs need while they last.
type RunDirs = state.RunDirs

// Doctor looks at what this computer needs, or else machines of providers. It changes nothing.
func (e *Engine) Doctor(ctx context.Context, of ...doctor.Query) []Finding {
	return e.doctor.Check(ctx, of...)
}

// Fix installs what [Engine.Doctor] misses and Seer can install: bubblewrap and programs for
// networks with the system's packages, gVisor and code-server into its own folder of tools.
// It returns the findings of Doctor afterwards. A program that it could not install has the
// reason as its Fix, and is an error of [KindProvider]. If nothing is missing, it does nothing.
func (e *Engine) Fix(ctx context.Context, progress Progress) ([]Finding, error) {
	return e.doctor.Fix(ctx, progress)
}

// Python is the interpreter of local sandboxes.
func (e *Engine) Python() (isolation.Interpreter, error) {
	p, err := e.python.Default()
	return p, as(KindConfig, err)
}

// Agents are what the agent of an experiment is settled from: its program, keys and secrets.
func (e *Engine) Agents(exp *experiment.Experiment) (agent.Sources, error) {
	sources, err := e.starter.Agents(exp)
	return sources, as(KindConfig, err)
}

// ToolPlaces are the folders in which tools such as gVisor's program are looked for.
func (e *Engine) ToolPlaces() []string { return e.paths.ToolPlaces() }

// RunDirs are the folders of runs. [Engine.GC] removes those that crashes leave behind.
func (e *Engine) RunDirs() RunDirs { return e.store.RunDirs() }

// SurfaceRecords remember which files surfaces have put into folders of the user's; see
// [surface.Write].
func (e *Engine) SurfaceRecords() (surface.Records, error) {
	dir, err := e.store.Dir("surfaces")
	return surface.Records{Dir: dir}, as(KindInternal, err)
}
