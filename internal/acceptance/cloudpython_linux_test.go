package acceptance

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

// TestPythonAgentOnACloud is a program of Python whose agent works on this computer, confined, and
// calls functions on a rented machine, whose endpoint is no socket that could be shown to it.
func TestPythonAgentOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
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
		p.check(c.python(p).wait(), 0, "called 42", "tool 8")
		c.nothingLives(t)
	})
}

// python starts program.py, with the cloud's name as its argument.
func (c *cloud) python(p *place) *job {
	p.t.Helper()
	if err := os.CopyFS(p.path("package/seer"), os.DirFS("../../python/seer")); err != nil {
		p.t.Fatal(err)
	}
	cmd := p.command("/usr/bin/python3", "program.py", c.name)
	cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path("package"), "PYTHONDONTWRITEBYTECODE=1", "SEER_PROGRAM="+installed.seer)
	return p.start(cmd)
}

// TestPythonIsKilledOnACloud kills a program of Python while it rents a machine and while it has
// one, alone and with its engine. Nothing is left to pay.
func TestPythonIsKilledOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		c.rentsSlowly(t)
		for _, tt := range []struct {
			when   string
			begun  func(j *job, rented int) bool
			engine bool // is killed, too: the lease of the machine ends it
		}{
			{"renting", func(_ *job, rented int) bool { return c.rented() > rented }, false},
			{"running", func(j *job, _ int) bool { return strings.Contains(text(j.out), "started") }, false},
			{"running with its engine", func(j *job, _ int) bool { return strings.Contains(text(j.out), "started") }, true},
		} {
			t.Run(tt.when, func(t *testing.T) {
				p := c.at(t)
				p.write("program.py", `import sys, time
from seer.environment import Sandbox, SandboxConfig

sandbox = Sandbox(SandboxConfig(gpu=None, provider=sys.argv[1], execution_mode=None, timeout=600)).start()
print("started", flush=True)
time.sleep(1000)
`)
				rented := c.rented()
				j := c.python(p)
				p.eventually(tt.when, func() bool { return tt.begun(j, rented) || j.over() })
				if j.over() {
					t.Fatalf("the program has ended: %s", clip(j.said()))
				}
				engines := p.matching("engine --stdio")
				j.signal(syscall.SIGKILL)
				j.wait()
				for _, one := range engines {
					if tt.engine {
						_ = syscall.Kill(one.pid, syscall.SIGKILL)
					}
				}
				p.eventually("the end of the engine", func() bool { return len(p.matching("engine --stdio")) == 0 })
				if tt.engine {
					p.eventually("the end of the lease", func() bool { return len(c.machines()) == 0 })
				}
				p.ok("gc")
				if left, listed := c.machines(), p.ls(); len(left) != 0 || len(listed) != 0 {
					t.Errorf("left: %v %v", left, listed)
				}
			})
		}
	})
}

// rentsSlowly has the cloud take some seconds to create a machine.
func (c *cloud) rentsSlowly(t *testing.T) {
	t.Helper()
	const slow = 5 * time.Second
	if c.runpod != nil {
		c.runpod.Inject(fakerunpod.Fault{Method: http.MethodPost, Path: "/v2/pods", Latency: slow})
	} else if err := c.modal.SetFaults(fakemodal.Faults{StartDelay: slow}); err != nil {
		t.Fatal(err)
	}
}
