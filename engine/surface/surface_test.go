package surface_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/sdk"
)

var connection = client.Connection{Version: 1, Sandbox: "sb-x", Service: "tools", Endpoint: "unix:/run/s", Token: "secret-token"}

func TestWriteFillsInWhatOnlyTheEngineKnows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder", "é")
	w, err := surface.Write(t.Context(), dir, sdk.Surface{
		Files: []sdk.SurfaceFile{
			{Path: "tools/__init__.py", Text: "x = 1\n"},
			{Path: "tools/_client.py", Kind: sdk.FilePythonClient},
			{Path: "tools/connection.json", Kind: sdk.FileConnection},
		},
		MCPServers: map[string]sdk.MCPServer{"tools": {Command: sdk.PlaceholderSeer, Args: []string{"mcp", "--connection", sdk.PlaceholderConnection}}},
		Prompt:     "in " + sdk.PlaceholderDir,
		Env:        map[string]string{"WHERE": sdk.PlaceholderDir + "/x"},
	}, surface.Target{Connection: connection, Seer: "/bin/seer", Inside: "/workspace"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.MCPServers["tools"]; got.Command != "/bin/seer" || got.Args[2] != "/workspace/tools/connection.json" {
		t.Errorf("server = %+v", got)
	}
	if w.Prompt != "in /workspace" || w.Env["WHERE"] != "/workspace/x" {
		t.Errorf("prompt %q, env %v", w.Prompt, w.Env)
	}
	path := filepath.Join(dir, "tools", "connection.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("connection file: %v, %v", info, err)
	}
	if c, err := client.ReadConnection(path); err != nil || c != connection {
		t.Errorf("connection = %+v, %v", c, err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "tools", "_client.py")); len(data) == 0 {
		t.Error("the client is empty")
	}
}

func TestWriteRefusesPathsThatLeave(t *testing.T) {
	outside := t.TempDir()
	for name, path := range map[string]string{
		"parent": "../x", "absolute": "/etc/x", "hidden parent": "a/../../x", "backslash": `a\x`, "empty": "", "dot": ".",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := surface.Write(t.Context(), t.TempDir(), sdk.Surface{Files: []sdk.SurfaceFile{{Path: path}}}, surface.Target{}); sdk.CodeOf(err) != sdk.Internal {
				t.Errorf("err = %v", err)
			}
		})
	}
	t.Run("symlink", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		_, err := surface.Write(t.Context(), dir, sdk.Surface{Files: []sdk.SurfaceFile{{Path: "link/x", Text: "no"}}}, surface.Target{})
		if err == nil {
			t.Error("wrote through a link")
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("outside holds %v", left)
		}
	})
}

func TestWriteRefusesAnIncompleteSurface(t *testing.T) {
	for name, s := range map[string]sdk.Surface{
		"no connection file": {Prompt: sdk.PlaceholderConnection},
		"seer unknown":       {Prompt: sdk.PlaceholderSeer},
		"unknown kind":       {Files: []sdk.SurfaceFile{{Path: "x", Kind: "new"}}},
		"twice":              {Files: []sdk.SurfaceFile{{Path: "x"}, {Path: "x"}}},
	} {
		if _, err := surface.Write(t.Context(), t.TempDir(), s, surface.Target{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMCPConfigKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"other": 1, "mcpServers": {"mine": {"command": "x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := surface.WriteMCPConfig(t.Context(), path, map[string]sdk.MCPServer{"tools": {Command: "seer"}}, surface.Records{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Other   int                      `json:"other"`
		Servers map[string]sdk.MCPServer `json:"mcpServers"`
	}
	data, _ := os.ReadFile(path)
	if err := json.Unmarshal(data, &got); err != nil || got.Other != 1 || got.Servers["mine"].Command != "x" || got.Servers["tools"].Command != "seer" {
		t.Errorf("%s (%v)", data, err)
	}

	// A server that has the same name and is another's is not replaced; one of an earlier surface is.
	for _, server := range []sdk.MCPServer{{Command: "y"}, {Command: "seer", Args: []string{"mcp", "--connection", "c"}}} {
		if err := surface.WriteMCPConfig(t.Context(), path, map[string]sdk.MCPServer{"mine": server}, surface.Records{}); err == nil || !strings.Contains(err.Error(), `"mine"`) {
			t.Errorf("replaced: err = %v", err)
		}
	}
	moved := sdk.MCPServer{Command: "/old/seer", Args: []string{"mcp", "--connection", "c"}}
	for _, server := range []sdk.MCPServer{moved, {Command: "/new/seer", Args: moved.Args}, {Command: "/new/seer", Args: moved.Args}} {
		if err := surface.WriteMCPConfig(t.Context(), path, map[string]sdk.MCPServer{"ours": server}, surface.Records{}); err != nil {
			t.Errorf("served again: %v", err)
		}
	}

	if err := os.WriteFile(path, []byte(`not json`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := surface.WriteMCPConfig(t.Context(), path, nil, surface.Records{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("err = %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "not json" {
		t.Errorf("a file that is not ours was changed to %q", data)
	}
}

func TestMCPConfigDoesNotReadThroughALink(t *testing.T) {
	secret, dir := filepath.Join(t.TempDir(), "private.json"), t.TempDir()
	if err := os.WriteFile(secret, []byte(`{"token": "t0ken"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mcp.json")
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	if err := surface.WriteMCPConfig(t.Context(), path, nil, surface.Records{}); err == nil {
		t.Error("read through the link")
	}
	if data, _ := os.ReadFile(secret); string(data) != `{"token": "t0ken"}` {
		t.Errorf("the file behind the link is now %s", data)
	}
}
