package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/repl"
	"github.com/seer-engine/seer/engine/workspace"
)

// Starter starts the session of a new sandbox, once everything else is there.
type Starter struct {
	Session
	Experiment *experiment.Experiment
	Contents   workspace.Workspace // of the working folder
	Restored   bool                // the working folder has the files of a snapshot in the place of Contents

	Network        Network
	UnexposedPorts bool // no way leads to the ports of [AddPorts] but the runtime's
	CodeServer     CodeServer
	// Bytecode makes that of the notebook service's modules for the machine's Python; nil =
	// the machine makes it.
	Bytecode func(context.Context) []byte

	// Configure gives processes the path of the working folder, as they see it.
	Configure func(ctx context.Context, folder string) error
	// Scan looks for what the agent must not find, once all of it is there.
	Scan   func(context.Context) error
	Report event.Reporter
}

// Start fills the working folder, and starts what the experiment asks for.
func (s Starter) Start(ctx context.Context) error {
	if err := s.fillFolder(ctx); err != nil {
		return err
	}
	if s.Experiment.Sandbox.ExecutionMode == experiment.ModeNotebook {
		if err := s.startJupyter(ctx); err != nil {
			return err
		}
	}
	if s.Experiment.Sandbox.ExecutionMode == experiment.ModeCLI {
		if err := s.prepareInterpreter(ctx); err != nil {
			return err
		}
	}
	if s.Experiment.Sandbox.Debug {
		if err := s.startCodeServer(ctx); err != nil {
			return err
		}
	}
	prompt := Prompt(s.Experiment, s.Contents)
	if err := s.Scan(ctx); err != nil {
		return err
	}
	return s.Update(ctx, func(state *State) { state.Prompt, state.Setup = prompt, s.SetupKey() })
}

func (s Starter) startJupyter(ctx context.Context) error {
	s.Report.Send(event.JupyterStarting{})
	base := newBase()
	spec := notebook.Spec{
		BaseURL: base, Port: s.port(s.Experiment.Sandbox.JupyterPort, notebook.DefaultPort), IP: s.listenIP(), Lab: true, Setup: s.setup(),
	}
	if s.Bytecode != nil {
		spec.Compiled = s.Bytecode(ctx)
	}
	server, err := notebook.Start(ctx, s.Client, spec, nil)
	if err != nil {
		return fmt.Errorf("start Jupyter: %w", err)
	}
	at := Endpoint{Port: server.Port, Secret: server.Token, Base: base}
	if err := s.Update(ctx, func(state *State) { state.Jupyter = &at }); err != nil {
		return err
	}
	client := notebook.NewClient(s.notebookAddress(at))
	defer client.Close()
	s.Report.Send(event.KernelPreparing{Loading: s.loading()})
	session, _, err := client.StartSession(ctx, notebook.NewSession{Mode: notebook.Prepare})
	if err != nil {
		return s.diagnose("prepare a kernel", err)
	}
	// Its URL has the token: who wants it asks for it.
	s.Report.Send(event.JupyterReady{Port: at.Port, Kernel: session.KernelName})
	return nil
}

// prepareInterpreter prepares the Python of the session, as it does a kernel.
func (s Starter) prepareInterpreter(ctx context.Context) error {
	s.Report.Send(event.InterpreterPreparing{Loading: s.loading()})
	var setup []repl.Setup
	for _, c := range s.setup() {
		setup = append(setup, repl.Setup(c))
	}
	if err := repl.Prepare(ctx, s.Client, repl.Python{Setup: setup}); err != nil {
		return s.diagnose("prepare the interpreter", err)
	}
	return nil
}

// diagnose is the error of set-up code: what fails in it is the experiment's.
func (s Starter) diagnose(what string, err error) error {
	var call *protocol.CallError
	said := err.Error()
	if errors.As(err, &call) {
		said += "\n" + call.Traceback
	}
	found := s.Experiment.Explain(fmt.Errorf("%s: %w", what, err))
	var missing *experiment.MissingModule
	if !errors.As(found, &missing) {
		found = s.Experiment.ExplainLoad(found, said)
	}
	var fault *experiment.LoadFault
	if call != nil || errors.As(found, &fault) || protocol.CodeOf(err) == protocol.Failed {
		return &errdefs.Error{Kind: errdefs.KindConfig, Err: found}
	}
	return found
}

// loading are the variables that models are loaded into.
func (s Starter) loading() (variables []string) {
	if s.Experiment.Workspace.NoPreload {
		return nil
	}
	for _, m := range s.Experiment.Sandbox.Models {
		variables = append(variables, m.VarName)
	}
	return variables
}

// setup is what runs in every kernel and interpreter before an agent uses it.
func (s Starter) setup() []notebook.SetupCell {
	cells := []notebook.SetupCell{{Name: "workspace", Code: setupWorkspace, Hidden: true}}
	if s.Experiment.Sandbox.GPUShare != nil {
		cells = append(cells, notebook.SetupCell{Name: "share of the GPU", Code: python.KeepGPUShare(), Hidden: true})
	}
	if w := s.Experiment.Workspace; !w.NoPreload {
		for _, m := range s.Experiment.Sandbox.Models {
			cells = append(cells, notebook.SetupCell{Name: "model " + m.VarName, Code: modelload.Code(s.loadable(m)), Hidden: !w.ShowsLoading})
		}
	}
	if s.Experiment.Workspace.Init != "" {
		cells = append(cells, notebook.SetupCell{Name: "init", Code: s.Experiment.Workspace.Init, Hidden: true})
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

func (s Starter) loadable(m experiment.Model) modelload.Model {
	l := modelload.Model{Variable: m.VarName, Tokenizer: m.TokenizerName(), Path: m.SandboxPath(), DType: m.DType, Device: m.Device, BlankAdapter: m.LoadAsPEFT}
	for _, base := range s.Experiment.Sandbox.Weights() {
		if m.IsPEFT && base.Alias() == m.BaseModel {
			l.Base = base.SandboxPath()
		}
	}
	return l
}
