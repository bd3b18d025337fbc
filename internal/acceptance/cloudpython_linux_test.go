package acceptance

import (
	"os"
	"testing"
)

// TestPythonAgentOnACloud is a program of Python whose agent works on this computer, confined, and
// calls functions on a rented machine, whose endpoint is no socket that could be shown to it.
func TestPythonAgentOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		if err := os.CopyFS(p.path("package/seer"), os.DirFS("../../python/seer")); err != nil {
			t.Fatal(err)
		}
		p.write("program.py", `import asyncio, json, sys
from seer.environment import SandboxConfig, ScopedSandbox
from seer.execution import create_local_session
from seer.harness import run_agent
from seer.workspace import Workspace

AGENT = """
import json, os, subprocess, sys
import model_tools
print("called", model_tools.double(21))
entry = json.load(open(os.environ["SEER_MCP_CONFIG"]))["mcpServers"]["spoken"]
hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}}
call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "double", "arguments": {"x": 4}}}
child = subprocess.Popen([entry["command"], *entry["args"]], env={**os.environ, **entry.get("env", {})},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(*messages):
    for m in messages:
        child.stdin.write(json.dumps(m) + chr(10))
    child.stdin.flush()
    while True:
        answer = json.loads(child.stdout.readline())
        if answer.get("id") == messages[-1]["id"]:
            return answer
ask(hello)
print("tool", ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, call)["result"]["content"][0]["text"])
child.stdin.close()
child.wait()
"""

async def main():
    with ScopedSandbox(SandboxConfig(gpu=None, provider=sys.argv[1], timeout=600)) as scoped:
        library = scoped.serve("tools.py", name="model_tools")
        spoken = scoped.serve("tools.py", expose_as="mcp", name="spoken")
        session = create_local_session(Workspace(libraries=[library]), workspace_dir="work")
        async for message in run_agent(
            task="Double.", session=session, mcp_servers=[spoken], provider="command", command=["python3", "-c", AGENT],
        ):
            print(message)

asyncio.run(main())
`)
		cmd := p.command("/usr/bin/python3", "program.py", c.name)
		cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path("package"), "PYTHONDONTWRITEBYTECODE=1", "SEER_PROGRAM="+installed.seer)
		p.check(p.start(cmd).wait(), 0, "called 42", "tool 8")
		if len(c.alive()) != 0 {
			t.Errorf("left: %v", c.alive())
		}
	})
}
