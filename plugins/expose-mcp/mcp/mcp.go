// Package mcp is the expose mode that offers the served functions as MCP tools.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

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
	args, err := arguments(req.Options)
	if err != nil {
		return sdk.Surface{}, err
	}
	return sdk.Surface{
		Files: []sdk.SurfaceFile{{Path: req.Name + ".connection.json", Kind: sdk.FileConnection}},
		MCPServers: map[string]sdk.MCPServer{req.Name: {
			Command: sdk.PlaceholderSeer,
			Args:    append([]string{"mcp", "--connection", sdk.PlaceholderConnection}, args...),
		}},
		Prompt: prompt(req),
	}, nil
}

// options are how the user wants the functions served.
type options struct {
	Wait        string `json:"wait"`         // how long a tool is waited for before its call goes on by itself: 45s
	HandleAbove int64  `json:"handle_above"` // bytes of a result that stays in the sandbox
}

func arguments(raw json.RawMessage) ([]string, error) {
	var o options
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "the options of an MCP server are wait and handle_above: %v", err)
		}
	}
	var args []string
	if o.Wait != "" {
		if wait, err := time.ParseDuration(o.Wait); err != nil || wait < time.Second {
			return nil, sdk.Errorf(sdk.Invalid, "the option wait is %q; it must be a time of at least a second, such as 45s", o.Wait)
		}
		args = append(args, "--wait", o.Wait)
	}
	if o.HandleAbove < 0 {
		return nil, sdk.Errorf(sdk.Invalid, "the option handle_above is %d; it must be a number of bytes", o.HandleAbove)
	}
	if o.HandleAbove > 0 {
		args = append(args, "--handle-above", strconv.FormatInt(o.HandleAbove, 10))
	}
	return args, nil
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
