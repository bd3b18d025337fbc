package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/start"
	"github.com/seer-engine/seer/engine/workspace"
)

// CheckOptions say what is allowed.
type CheckOptions = start.CheckOptions

// UpOptions say how a sandbox is made.
type UpOptions = start.Options

// Check finds everything that would stop the experiment, before anything is rented. The
// report has its findings; see [preflight.Report.Err].
func (e *Engine) Check(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (preflight.Report, error) {
	return e.starter.Check(ctx, exp, o)
}

// Plan says what the experiment will make, where and at what cost, and with which effects
// beyond its folder and its confinement. It makes
// nothing. An experiment that cannot work is an [experiment.Errors].
func (e *Engine) Plan(ctx context.Context, exp *experiment.Experiment, o CheckOptions) (plan.Plan, error) {
	return e.starter.Plan(ctx, exp, o)
}

// Up makes the sandbox of an experiment: the machine, the runtime on it, the
// models, files, variables and secrets. It serves nothing; see [Sandbox.Serve].
// Everything that can be checked is checked first. When Up fails or ctx ends, what
// was rented has been ended.
func (e *Engine) Up(ctx context.Context, exp *experiment.Experiment, o UpOptions) (*Sandbox, error) {
	m, err := e.starter.Start(ctx, exp, o)
	if err != nil {
		return nil, err
	}
	return e.sandbox(m), nil
}

// WorkspaceOf reads what an experiment puts into workspaces.
func WorkspaceOf(exp *experiment.Experiment) (workspace.Workspace, error) {
	return session.Contents(exp)
}
