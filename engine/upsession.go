package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
	"github.com/seer-engine/seer/sdk"
)

// session starts what people and agents use the sandbox with, once everything else is
// there: Jupyter with a prepared kernel, VS Code.
func (u *up) session(ctx context.Context, s *Sandbox) error {
	if err := u.workspace(ctx, s); err != nil {
		return err
	}
	if u.exp.Sandbox.ExecutionMode == experiment.ModeNotebook {
		if err := u.jupyter(ctx, s); err != nil {
			return err
		}
	}
	if u.exp.Sandbox.ExecutionMode == experiment.ModeCLI {
		if err := u.interpreter(ctx, s); err != nil {
			return err
		}
	}
	if u.exp.Sandbox.Debug {
		if err := u.codeServer(ctx, s); err != nil {
			return err
		}
	}
	prompt := u.prompt()
	if err := u.probe(ctx, s); err != nil || prompt == "" {
		return err
	}
	return u.engine.noteSession(ctx, s.id, func(n *sessionNote) { n.Prompt = prompt })
}

// findVSCode finds the code-server that a machine of this computer is shown.
func (u *up) findVSCode() error {
	if !u.exp.Sandbox.Debug || !slices.ContainsFunc(u.plan.Choices, func(c plan.Choice) bool { return c.HostMounts }) {
		return nil
	}
	tools, err := u.engine.paths.Tools()
	if err != nil {
		return err
	}
	found, err := codeserver.Find(u.engine.getenv, tools)
	u.vscode = &found
	return err
}

// noteMode puts into the record what a later program needs to know of the session.
func (u *up) noteMode(r *machine.Record) error {
	config, err := u.exp.Config()
	if err != nil {
		return err
	}
	return setNote(r, func(n *sessionNote) {
		n.Mode, n.Config, n.Layer, n.Network = u.exp.Sandbox.ExecutionMode, config, u.layerKey(), networkLabel(u.exp.Sandbox)
		if spec := u.hidden.Spec(); u.hides() {
			n.Hidden = &spec
		}
	})
}

// listen asks for the ports of Jupyter and VS Code. On a machine that shares this
// computer's network a port that may be another one is looked for when it is needed; on
// one of this computer with a network of its own, all may be others outside but those that
// jupyter_port and debug_port name. What a rented machine can do without is returned: the way
// through the runtime is always there.
func (u *up) listen(spec *sdk.MachineSpec, c plan.Choice) (spared []int) {
	if u.building != "" {
		return nil
	}
	if c.HostMounts && !u.sharesNetwork(c) {
		spec.AnyPort = slices.Clone(spec.Ports)
	}
	ports, movable := listeners(u.exp.Sandbox)
	for _, port := range ports {
		may := slices.Contains(movable, port)
		if c.HostMounts && u.sharesNetwork(c) && may {
			continue
		}
		if !c.HostMounts && !slices.Contains(spec.Ports, port) {
			spared = append(spared, port)
		}
		spec.Ports = append(slices.Clone(spec.Ports), port)
		if c.HostMounts && may {
			spec.AnyPort = append(spec.AnyPort, port)
		}
	}
	return spared
}

// sharesNetwork reports whether a machine on this computer has this computer's network.
func (u *up) sharesNetwork(c plan.Choice) bool {
	return u.plan.Network == "host" || u.plan.Network == "open" && (c.Isolation == "none" || c.Isolation == "")
}

// everywhere is where programs listen on a machine whose ports are led to from outside.
const everywhere = "0.0.0.0"

func (u *up) listenIP() string {
	if u.chosen.HostMounts || u.spared {
		return "" // only the machine itself
	}
	return everywhere
}

func (u *up) jupyter(ctx context.Context, s *Sandbox) error {
	u.report.Info(StageSession, "starting Jupyter")
	base := newBase()
	spec := notebook.Spec{
		BaseURL: base, Port: u.fixedPort(u.exp.Sandbox.JupyterPort, notebook.DefaultPort), IP: u.listenIP(), Lab: true, Setup: u.setup(),
	}
	if u.chosen.HostMounts { // then its Python is this computer's
		spec.Compiled = u.engine.python.Notebook(ctx)
	}
	server, err := notebook.Start(ctx, s.runtime, spec, nil)
	if err != nil {
		return fmt.Errorf("start Jupyter: %w", err)
	}
	at := listener{Port: server.Port, Secret: server.Token, Base: base}
	if err := u.engine.noteSession(ctx, s.id, func(n *sessionNote) { n.Jupyter = &at }); err != nil {
		return err
	}
	client := notebook.NewClient(s.notebookAddress(at))
	defer client.Close()
	u.report.Info(StageSession, "preparing a kernel%s", u.loadingText())
	session, _, err := client.StartSession(ctx, notebook.NewSession{Mode: notebook.Prepare})
	if err != nil {
		return u.setupError("prepare a kernel", err)
	}
	// Its URL has the token: who wants it asks for it.
	u.report.Done(StageSession, "Jupyter is ready at port %d (%s)", at.Port, session.KernelName)
	return nil
}

// setupError is that of set-up code: what fails in it is the experiment's.
func (u *up) setupError(what string, err error) error {
	var call *protocol.CallError
	said := err.Error()
	if errors.As(err, &call) {
		said += "\n" + call.Traceback
	}
	found := u.exp.Explain(fmt.Errorf("%s: %w", what, err))
	var missing *experiment.MissingModule
	if !errors.As(found, &missing) {
		found = u.exp.ExplainLoad(found, said)
	}
	var fault *experiment.LoadFault
	if call != nil || errors.As(found, &fault) || protocol.CodeOf(err) == protocol.Failed {
		return &Error{Kind: KindConfig, Err: found}
	}
	return found
}

// interpreter prepares the Python of the session, as it does a kernel.
func (u *up) interpreter(ctx context.Context, s *Sandbox) error {
	u.report.Info(StageSession, "preparing the interpreter%s", u.loadingText())
	var setup []repl.Setup
	for _, c := range u.setup() {
		setup = append(setup, repl.Setup(c))
	}
	if err := repl.Prepare(ctx, s.runtime, repl.Python{Setup: setup}); err != nil {
		return u.setupError("prepare the interpreter", err)
	}
	return nil
}

// fixedPort is the port that must be had: the one that was asked for, or the one that the
// provider has been told.
func (u *up) fixedPort(asked, usual int) int {
	if asked == 0 && (!u.chosen.HostMounts || !u.sharesNetwork(u.chosen)) {
		return usual
	}
	return asked
}

func (u *up) loadingText() string {
	names := make([]string, 0, len(u.exp.Sandbox.Models))
	for _, m := range u.exp.Sandbox.Models {
		names = append(names, m.VarName)
	}
	if len(names) == 0 || u.exp.Workspace.NoPreload {
		return ""
	}
	return ", loading " + strings.Join(names, ", ")
}

// setup is what runs in every kernel and interpreter before an agent uses it.
func (u *up) setup() []notebook.SetupCell {
	cells := []notebook.SetupCell{{Name: "workspace", Code: setupWorkspace, Hidden: true}}
	if w := u.exp.Workspace; !w.NoPreload {
		for _, m := range u.exp.Sandbox.Models {
			cells = append(cells, notebook.SetupCell{Name: "model " + m.VarName, Code: modelload.Code(u.loadable(m)), Hidden: !w.ShowsLoading})
		}
	}
	if u.exp.Workspace.Init != "" {
		cells = append(cells, notebook.SetupCell{Name: "init", Code: u.exp.Workspace.Init, Hidden: true})
	}
	return cells
}

// setupWorkspace makes libraries of the working folder importable, whatever folder the
// notebook is in.
const setupWorkspace = `import os as _os, sys as _sys
WORKSPACE = _os.environ.get("SEER_WORKSPACE") or "/workspace"
if WORKSPACE not in _sys.path:
    _sys.path.insert(0, WORKSPACE)
_os.chdir(WORKSPACE)
del _os, _sys
`

func (u *up) loadable(m experiment.Model) modelload.Model {
	l := modelload.Model{Variable: m.VarName, Tokenizer: m.TokenizerName(), Path: m.SandboxPath(), DType: m.DType, Device: m.Device, BlankAdapter: m.LoadAsPEFT}
	for _, base := range u.exp.Sandbox.Weights() {
		if m.IsPEFT && base.Name == m.BaseModel {
			l.Base = base.SandboxPath()
		}
	}
	return l
}

func (u *up) codeServer(ctx context.Context, s *Sandbox) error {
	u.report.Info(StageSession, "starting VS Code")
	base, program := newBase(), u.vscode
	if !u.chosen.HostMounts {
		program = nil // the plan had choices of this computer, too
	}
	spec := codeserver.Spec{Base: base, Program: program, Shown: u.chosen.Isolation != "none", Port: u.fixedPort(u.exp.Sandbox.DebugPort, codeserver.DefaultPort), IP: u.listenIP(), SHA256: u.engine.getenv(codeserver.PinnedIn)}
	server, err := codeserver.Start(ctx, s.runtime, spec, func(line string) { u.report.Log(StageSession, line) })
	if err != nil {
		return fmt.Errorf("start VS Code: %w", err)
	}
	err = u.engine.noteSession(ctx, s.id, func(n *sessionNote) { n.CodeServer = &listener{Port: server.Port, Secret: server.Password, Base: base} })
	if err != nil {
		return err
	}
	u.report.Done(StageSession, "VS Code is ready at port %d", server.Port)
	return nil
}
