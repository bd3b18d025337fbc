package engine

import (
	"context"
	"slices"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/engine/workspace"
)

// WorkspaceOf reads what an experiment puts into workspaces.
func WorkspaceOf(exp *experiment.Experiment) (workspace.Workspace, error) {
	w := exp.Workspace
	read, err := workspace.Load(workspace.Sources{
		Libraries: w.Libraries, Skills: w.Skills, SkillDirs: w.SkillDirs, Files: w.Files, Dirs: w.Dirs, Init: w.Init,
		PreloadModels: !w.NoPreload, HiddenModelLoading: !w.ShowsLoading,
	})
	return read, as(KindConfig, err)
}

// readWorkspace reads it before anything is rented.
func (u *up) readWorkspace() (err error) {
	u.contents, err = WorkspaceOf(u.exp)
	return err
}

// session starts what people and agents use the sandbox with, once everything else is
// there.
func (u *up) session(ctx context.Context, s *Sandbox) error {
	starter := session.Starter{
		Session: s.session(), Experiment: u.exp, Contents: u.contents, Restored: u.opts.Snapshot != "",
		Network: u.network(u.chosen), UnexposedPorts: u.unexposedPorts,
		CodeServer: session.CodeServer{Shown: u.chosen.Isolation != "none", SHA256: u.engine.getenv(codeserver.PinnedIn)},
		Configure: func(ctx context.Context, folder string) error {
			u.folder = folder
			return s.runtime.PutConfig(ctx, u.config())
		},
		Scan:   func(ctx context.Context) error { return u.probe(ctx, s) },
		Report: u.report,
	}
	if u.chosen.HostMounts { // then its Python is this computer's, and so may its VS Code be
		starter.Bytecode, starter.CodeServer.Program = u.engine.python.Notebook, u.vscode
	}
	return starter.Start(ctx)
}

// network says how the ports of a machine are reached.
func (u *up) network(c plan.Choice) session.Network {
	open := u.plan.Network == "open" && (c.Isolation == "none" || c.Isolation == "")
	return session.Network{Here: c.HostMounts, Shared: u.plan.Network == "host" || open}
}

// findVSCode finds the code-server that a machine of this computer is shown.
func (u *up) findVSCode() error {
	if !u.exp.Sandbox.Debug || !slices.ContainsFunc(u.plan.Choices, func(c plan.Choice) bool { return c.HostMounts }) {
		return nil
	}
	found, err := u.engine.findCodeServer()
	if err == nil {
		u.vscode = &found
	}
	return err
}

// noteMode puts into the record what a later program needs to know of the session.
func (u *up) noteMode(r *machine.Record) error {
	config, err := u.exp.Config()
	if err != nil {
		return err
	}
	return session.SetState(r, func(state *session.State) {
		state.Mode, state.Config, state.Layer, state.Network = u.exp.Sandbox.ExecutionMode, config, u.layerKey(), files.NetworkLabel(u.exp.Sandbox)
		if spec := u.hidden.Spec(); u.hides() {
			state.Hidden = &spec
		}
	})
}
