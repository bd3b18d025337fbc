package run

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	workspaces "github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/sdk"
)

const (
	// insideNotebook is the agent's way to Jupyter.
	insideNotebook = "/run/seer/notebook.sock"
	// notebookURL is the variable that has the jupyter_url for the MCP server: an argument
	// could be read by everybody on this computer.
	notebookURL = "SEER_JUPYTER_URL"
	// pageURL is the variable with the one that a person can open.
	pageURL = "SEER_JUPYTER_PAGE"

	sessionFile = "session.json"
	sessionName = "agent" // of the key that an agent gets
)

// contents puts libraries, skills and files into the agent's folder.
func (r *runner) contents() error {
	all, err := engine.WorkspaceOf(r.exp)
	if err != nil {
		return err
	}
	r.docs = strings.TrimSpace(all.Docs())
	for _, f := range all.Plan(workspaces.Kind(r.exp.Sandbox.ExecutionMode)).Agent {
		if err := r.space.file(f); err != nil {
			return fmt.Errorf("put %s into the workspace: %w", f.Path, err)
		}
	}
	if r.exp.Sandbox.ExecutionMode != experiment.ModeLocal {
		return nil
	}
	for _, p := range append(slices.Clone(r.exp.Sandbox.LocalFiles), r.exp.Sandbox.LocalDirs...) {
		to := strings.TrimPrefix(strings.TrimPrefix(p.Remote, workspaces.Folder), "/")
		if err := r.space.add(p.Local, to); err != nil {
			return fmt.Errorf("put %s into the workspace: %w", p.Local, err)
		}
	}
	return nil
}

// servable refuses a session that nobody could serve, before a machine is rented.
func (r *runner) servable() error {
	if r.opts.Seer == "" && r.exp.Sandbox.Whole() {
		return &engine.Error{Kind: engine.KindUnsupported, Err: fmt.Errorf("execution_mode %s needs the seer program, which serves it to the agent; say where it is", r.exp.Sandbox.ExecutionMode)}
	}
	if a := r.exp.Agent; r.opts.Seer == "" && a.Profiled() && a.Network != "open" {
		return &engine.Error{Kind: engine.KindUnsupported, Err: fmt.Errorf("the agent %s needs the seer program, by which it reaches its language model; say where it is", a.Provider)}
	}
	for _, name := range slices.Sorted(maps.Keys(r.exp.Agent.Servers)) {
		if r.opts.Seer == "" && r.exp.Agent.Servers[name]["url"] != nil {
			return &engine.Error{Kind: engine.KindUnsupported, Err: fmt.Errorf("the MCP server %s has an address and needs the seer program, by which the agent reaches it; say where it is", name)}
		}
	}
	return nil
}

// session adds what an agent is told of its libraries; of a sandbox that it may use as a
// whole, also an MCP server and everything else that it is told of that.
func (r *runner) session(ctx context.Context, all *gathered) error {
	if r.sandbox == nil || !r.exp.Sandbox.Whole() {
		all.tell(r.docs)
		return nil
	}
	add := r.shellServer
	name := "sandbox"
	if r.exp.Sandbox.ExecutionMode == experiment.ModeNotebook {
		add, name = r.notebookServer, "notebook"
	}
	server, err := add(ctx)
	if err != nil {
		return err
	}
	all.servers[name] = server
	text, err := r.sandbox.Prompt(ctx)
	all.tell(text)
	return err
}

// notebookServer serves the notebooks. The agent's way leads to Jupyter's port and
// nowhere else.
func (r *runner) notebookServer(ctx context.Context) (sdk.MCPServer, error) {
	env, err := r.sandbox.Environment(ctx)
	if err != nil {
		return sdk.MCPServer{}, err
	}
	dir, err := r.engine.RunDirs().PortRelay(r.id, env.JupyterPort)
	if err != nil {
		return sdk.MCPServer{}, err
	}
	way, err := listenRelay(dir, r.sandbox.JupyterDialer(env.JupyterPort), func() {}, r.agent.seen.watch(fromNotebook), r.traces.watch(r.sandbox))
	if err != nil {
		return sdk.MCPServer{}, fmt.Errorf("make the agent's way to Jupyter: %w", err)
	}
	r.agent.relays = append(r.agent.relays, way)
	socket := way.socket
	if r.agent.confined() {
		r.agent.mounts = append(r.agent.mounts, sdk.Mount{Source: socket, Target: insideNotebook, Writable: true})
		socket = insideNotebook
	}
	return sdk.MCPServer{
		Command: r.agent.seerPath(r.opts.Seer),
		Args:    []string{"mcp", "--notebook", "env:" + notebookURL, "--out", filepath.Join(r.agent.workspace, outputsName)},
		Env:     map[string]string{notebookURL: "unix:" + socket + "?token=" + env.JupyterToken + "&base=" + env.JupyterBase, pageURL: env.JupyterURL},
	}, nil
}

// shellServer serves the whole sandbox, with a key of its own.
func (r *runner) shellServer(ctx context.Context) (sdk.MCPServer, error) {
	key, err := r.sandbox.Shell(ctx, sessionName)
	if err != nil {
		return sdk.MCPServer{}, err
	}
	if err := r.agent.reachRuntime(r.engine, r.id, key.Endpoint, key.Token); err != nil {
		return sdk.MCPServer{}, err
	}
	key.Endpoint = r.agent.endpoint(key.Endpoint)
	if err := r.space.vacate(sessionFile); err != nil {
		return sdk.MCPServer{}, err
	}
	path := filepath.Join(r.exp.Workspace.Dir, sessionFile)
	if err := key.Write(path); err != nil {
		return sdk.MCPServer{}, err
	}
	r.temporary = append(r.temporary, path)
	if err := r.space.adopt([]string{path}); err != nil {
		return sdk.MCPServer{}, err
	}
	return sdk.MCPServer{
		Command: r.agent.seerPath(r.opts.Seer),
		Args:    []string{"mcp", "--shell", filepath.Join(r.agent.workspace, sessionFile), "--files", r.agent.workspace},
	}, nil
}
