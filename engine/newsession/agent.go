package newsession

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/sdk"
)

const (
	// maxFile is the largest file of a workspace that goes into a folder of an agent.
	maxFile = 1 << 30
	// jupyterURL is the variable for the server of MCP: an argument could be read by all users
	// of this computer.
	jupyterURL = "SEER_JUPYTER_URL"
)

// Local fills the folder of an agent that works on this computer without a sandbox.
func Local(ctx context.Context, o Options, records surface.Records) (Opened, error) {
	if o.Kind, o.Name = workspace.Local, orLocal(o.Name); !names().MatchString(o.Name) {
		return Opened{}, refuse(errdefs.KindConfig, "the session cannot have the name %q: use letters, digits and . _ -, at most 80", o.Name)
	}
	if o.Contents.Init != "" {
		return Opened{}, noInit()
	}
	err := errdefs.Wrap(errdefs.KindConfig, o.Contents.Check())
	if err != nil {
		return Opened{}, err
	}
	files, err := agentFiles(o)
	if err != nil {
		return Opened{}, err
	}
	if err := surface.WriteFiles(ctx, o.Dir, files, records); err != nil {
		return Opened{}, errdefs.Wrap(errdefs.KindConflict, err)
	}
	made := Opened{Name: o.Name, Kind: o.Kind, Prompt: strings.TrimSpace(o.Contents.Docs())}
	made.describe(o, "")
	return made, nil
}

func orLocal(name string) string {
	if name == "" {
		return string(workspace.Local)
	}
	return name
}

// agentFiles are those of the agent's folder.
func agentFiles(o Options) (all []surface.File, err error) {
	if o.Dir == "" {
		return nil, nil
	}
	if !filepath.IsAbs(o.Dir) {
		return nil, refuse(errdefs.KindConfig, "the folder %q of the session is not absolute", o.Dir)
	}
	for _, f := range o.Contents.Plan(o.Kind).Agent {
		if f.Size > maxFile {
			return nil, refuse(errdefs.KindConfig, "the file %s has more than 1 GiB: upload it into the sandbox, or put a link to it into the folder of the session", f.Path)
		}
		data, err := read(f)
		if err != nil {
			return nil, errdefs.Wrap(errdefs.KindConfig, err)
		}
		all = append(all, surface.File{Path: f.Path, Data: data, Mode: f.Mode.Perm() | 0o200})
	}
	return all, nil
}

func read(f workspace.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// describe says how an agent's program gets to its tools and libraries.
func (m *Opened) describe(o Options, sandbox string) {
	if o.Dir == "" {
		return
	}
	m.Env = map[string]string{"PYTHONPATH": o.Dir}
	if o.Seer == "" {
		return
	}
	switch m.Kind {
	case workspace.Notebook:
		server := sdk.MCPServer{Command: o.Seer, Args: []string{"mcp", "--notebook", sandbox, "--out", filepath.Join(o.Dir, "outputs")}}
		if m.JupyterURL != "" { // it needs nothing else of this computer
			server.Args[2], server.Env = "env:"+jupyterURL, map[string]string{jupyterURL: m.JupyterURL}
		}
		m.MCPServers = map[string]sdk.MCPServer{"notebook": server}
	case workspace.CLI:
		m.MCPServers = map[string]sdk.MCPServer{"sandbox": {
			Command: o.Seer, Args: []string{"mcp", "--shell", m.KeyFile, "--files", o.Dir},
		}}
	}
}
