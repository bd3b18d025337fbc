package acceptance

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// TestMainJob is what somebody does who has only the program: a sandbox, its
// functions in a plain Python and as MCP tools, and the end. Nothing is left.
func TestMainJob(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("tiny model/weights.txt", "1 2 3\n")
	p.write("tools.py", `weights = open(get_model_path("./tiny model") + "/weights.txt").read().split()
calls = 0

@expose
def weight(layer: int, *, scale: float = 1.0) -> float:
    """One weight."""
    global calls
    calls += 1
    return float(weights[layer]) * scale

@expose
def count() -> int:
    return calls
`)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m, models: ['./tiny model'], network: none}\n")
	p.up("lab")
	p.ok("serve", "lab", "tools.py", "--name", "model_tools", "--out", "my lib")
	cmd := p.command("/usr/bin/python3", "-c", "import inspect, model_tools as m\nprint(m.weight(1, scale=2), list(inspect.signature(m.weight).parameters), m.weight.__doc__)")
	cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path("my lib"), "PYTHONDONTWRITEBYTECODE=1")
	p.check(p.start(cmd).wait(), 0, "4.0 ['layer', 'scale'] One weight.")

	p.ok("serve", "lab", "tools.py", "--as", "mcp", "--name", "tools", "--out", "mcp é")
	answers := p.mcp("mcp é/mcp.json", "tools",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"weight","arguments":{"layer":2}}}`)
	if !strings.Contains(answers, `"name":"weight"`) || !strings.Contains(answers, `"structuredContent":{"result":3`) {
		t.Errorf("MCP: %s", answers)
	}
	if got := p.ok("call", "lab", "model_tools.count"); got != "1" {
		t.Errorf("the state of the library's service: %s", got)
	}
	p.ok("down", "lab")
	p.nothingRuns()
	p.nothingLies() // without gc
}

// mcp starts a server as its configuration says, with nothing but that, and talks
// to it until it has answered everything.
func (p *place) mcp(file, name string, lines ...string) string {
	p.t.Helper()
	var config struct {
		Servers map[string]sdk.MCPServer `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(p.read(file)), &config); err != nil {
		p.t.Fatal(err)
	}
	server := config.Servers[name]
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Env, cmd.Dir = []string{"HOME=" + filepath.Join(p.base, "nobody's")}, "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	j := p.start(cmd)
	if _, err := in.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		p.t.Fatal(err)
	}
	p.eventually("the answers", func() bool { return strings.Count(text(j.out), "\n") >= 3 })
	in.Close() // the client goes
	r := j.wait()
	p.check(r, 0)
	return r.out
}
