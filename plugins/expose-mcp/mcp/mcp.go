// Package mcp is the expose mode that offers the served functions as MCP tools.
package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Mode implements [sdk.Exposer].
type Mode struct{}

// Expose makes one server, which the agent starts over stdio. The server learns
// the tools from the connection when it starts, so that serving the interface
// again needs no new surface.
func (Mode) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	if req.Name == "" {
		return sdk.Surface{}, sdk.Errorf(sdk.Invalid, "an MCP server needs a name")
	}
	return sdk.Surface{
		Files: []sdk.SurfaceFile{{Path: req.Name + ".connection.json", Kind: sdk.FileConnection}},
		MCPServers: map[string]sdk.MCPServer{req.Name: {
			Command: sdk.PlaceholderSeer,
			Args:    []string{"mcp", "--connection", sdk.PlaceholderConnection},
		}},
		Prompt: prompt(req),
	}, nil
}

// prompt names the tools; their descriptions and schemas come with the server.
func prompt(req sdk.ExposeRequest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The MCP server `%s` offers these tools:\n\n", req.Name)
	for _, f := range req.Interface.Functions {
		line, _, _ := strings.Cut(strings.TrimSpace(f.Doc), "\n")
		if line != "" {
			line = ": " + line
		}
		fmt.Fprintf(&b, "- `%s`%s\n", f.Name, line)
	}
	return b.String()
}
