package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/sdk"
)

// Files beside a surface for agents that read them; seer run uses the same names.
const (
	mcpFile    = "mcp.json"
	promptFile = "prompt.md"
)

func newServe(a *app) *cobra.Command {
	var mode, name, out string
	c := &cobra.Command{
		Use:   "serve ID FILE --as MODE --name NAME --out DIR",
		Short: "Serve the functions of a Python file to an agent",
		Long: `Load FILE in a worker of the sandbox and write what an agent needs to call its
@expose functions into DIR:

  library   a Python module NAME, to be imported; standard library only
  mcp       mcp.json, with a server that any MCP client can start
  prompt    NAME.md, which tells how the functions are called

Each also writes prompt.md, a few lines for the agent's prompt, over the one that is
there. Plugins add further modes. Serving a NAME again replaces it once the new version
has loaded; what was written before goes on working. What is written holds a token
that can call these functions and nothing else.`,
		Example: `  seer serve lab interface.py --as library --name model_tools --out workspace
  (cd workspace && python3 -c 'import model_tools; print(model_tools.get_model_info())')
  seer serve lab interface.py --as mcp --name model_tools --out .`,
		Args: args(2, 2, "a sandbox and the interface FILE"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.serve(cmd.Context(), given[0], given[1], mode, name, out)
		},
		ValidArgsFunction: a.completeSandboxThenFile,
	}
	c.Flags().StringVar(&mode, "as", "library", "how the functions reach the agent: library, mcp, prompt, or a plugin's `MODE`")
	c.Flags().StringVar(&name, "name", "", "the `NAME` of the module, server and service (default: the file's)")
	c.Flags().StringVar(&out, "out", ".", "the `DIR` to write to")
	_ = c.RegisterFlagCompletionFunc("as", a.completeMode)
	return c
}

// served is the result of serve.
type served struct {
	Sandbox   string   `json:"sandbox"`
	Service   string   `json:"service"`
	Mode      string   `json:"mode"`
	Functions []string `json:"functions"`
	surface.Written
}

func (a *app) serve(ctx context.Context, ref, file, mode, name, out string) error {
	s, err := a.open(ctx, ref)
	if err != nil {
		return err
	}
	defer s.Close()
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	service, err := s.Serve(ctx, engine.ServeOptions{File: abs, Name: name, ExposeAs: mode, Progress: a.ui.progress})
	if err != nil {
		return err
	}
	made, err := service.Expose(ctx, mode, nil)
	if err != nil {
		return err
	}
	written, err := writeSurface(out, made, service)
	if err != nil {
		return err
	}
	result := served{Sandbox: s.ID(), Service: service.Name(), Mode: mode, Written: written}
	for _, f := range service.Interface().Functions {
		result.Functions = append(result.Functions, f.Name)
	}
	return a.print(result, func(w io.Writer) error {
		a.ui.tell("Serving %s: %s", result.Service, strings.Join(result.Functions, ", "))
		for _, f := range written.Files {
			if _, err := fmt.Fprintln(w, f); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(written.Env)) {
			a.ui.tell("The agent needs %s=%s", name, written.Env[name])
		}
		return nil
	})
}

// writeSurface writes the files of a surface, and for the parts that are no files
// those that agents usually read.
func writeSurface(out string, made sdk.Surface, service interface{ Connection() protocol.Connection }) (surface.Written, error) {
	seer, err := os.Executable()
	if err != nil {
		return surface.Written{}, err
	}
	w, err := surface.Write(out, made, surface.Target{Connection: service.Connection(), Seer: seer})
	if err != nil {
		return w, err
	}
	dir, err := filepath.Abs(out)
	if err != nil {
		return w, err
	}
	if len(w.MCPServers) > 0 {
		path := filepath.Join(dir, mcpFile)
		if err := surface.WriteMCPConfig(path, w.MCPServers); err != nil {
			return w, err
		}
		w.Files = append(w.Files, path)
	}
	if w.Prompt != "" {
		path := filepath.Join(dir, promptFile)
		if err := os.WriteFile(path, []byte(strings.TrimRight(w.Prompt, "\n")+"\n"), 0o644); err != nil {
			return w, err
		}
		w.Files = append(w.Files, path)
	}
	return w, nil
}
