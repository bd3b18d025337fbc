package python_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// holder makes a session, prints its MCP servers and what an agent's program gets of it, and keeps
// it until its input ends.
const holder = `
import json, sys
from seer.environment import Sandbox, SandboxConfig
from seer.execution import create_cli_session, create_notebook_session
from seer.workspace import Library, Workspace

kind = sys.argv[1]
create = {"cli": create_cli_session, "notebook": create_notebook_session}[kind]
with Sandbox(SandboxConfig(gpu=None, provider="local", execution_mode=kind, timeout=600)) as sandbox:
    session = create(sandbox, Workspace([Library.from_code("helpers", "def shout(x): return x + '!'")], init="ready = 7"))
    print(json.dumps({"servers": session.mcp_config, "url": sandbox.jupyter_url or ""}), flush=True)
    sys.stdin.read()
`

type held struct {
	Servers map[string]sdk.MCPServer `json:"servers"`
	URL     string                   `json:"url"`
}

// hold starts the program. It ends with the test.
func hold(t *testing.T, kind, python string, env []string) (h held) {
	t.Helper()
	cmd := exec.Command(python, "-B", "-c", holder, kind) // without the context of the test, which ends before its clean-up
	cmd.Env, cmd.Dir = append(env, "SEER_PYTHON="+testbuild.Jupyter(t)), t.TempDir()
	var said bytes.Buffer
	cmd.Stderr = &said
	in, out := testkit.StartPiped(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, said.String())
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &h)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return h
}

// tool calls a tool of a server that is started for it.
func tool(t *testing.T, cmd *exec.Cmd, name string, arguments map[string]any) string {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	defer session.Close()
	if name == "execute_code" {
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "start_new_session", Arguments: map[string]any{}}); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	text, _ := json.Marshal(result)
	return string(text)
}

const look = "import helpers; print(helpers.shout(str(ready)))"

// The servers of sessions work for a client that gives them only what mcp_config says.
func TestServersOfSessions(t *testing.T) {
	t.Parallel()
	for kind, call := range map[string]string{"cli": "run_python", "notebook": "execute_code"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			python, env := interpreter(t)
			for name, server := range hold(t, kind, python, env).Servers {
				cmd := exec.Command(server.Command, server.Args...)
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
				for _, key := range slices.Sorted(maps.Keys(server.Env)) {
					cmd.Env = append(cmd.Env, key+"="+server.Env[key])
				}
				if said := tool(t, cmd, call, map[string]any{"code": look}); !strings.Contains(said, "7!") {
					t.Errorf("%s: %s", name, said)
				}
			}
		})
	}
}

// python -m seer.notebook_mcp takes the place of other servers that SCRIBE_URL is for.
func TestNotebookMCP(t *testing.T) {
	t.Parallel()
	python, env := interpreter(t)
	server := func(more ...string) *exec.Cmd {
		cmd := exec.Command(python, "-B", "-m", "seer.notebook_mcp", "--out", "-")
		cmd.Env, cmd.Dir = append(env, more...), t.TempDir()
		return cmd
	}
	h := hold(t, "notebook", python, env)
	if said := tool(t, server("SCRIBE_URL="+h.URL), "execute_code", map[string]any{"code": look}); !strings.Contains(said, "7!") {
		t.Error(said)
	}
	out, err := server().CombinedOutput()
	if err == nil || !strings.Contains(string(out), "SCRIBE_URL is not set") {
		t.Errorf("%v: %s", err, out)
	}
}
