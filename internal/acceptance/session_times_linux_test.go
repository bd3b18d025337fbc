package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNotebookIdle: a cell that runs keeps the sandbox, however silent, also when nobody
// waits for it; a Jupyter that only waits does not.
func TestNotebookIdle(t *testing.T) {
	t.Parallel()
	p := newJupyterPlace(t)
	a := p.inNotebook("timeout: 10m, idle_timeout: 30s")
	a.begin("execute_code", map[string]any{"code": "open('/workspace/begun', 'w').close()\nimport time\ntime.sleep(45)\nopen('/workspace/done', 'w').close()"})
	made := func(name string) { // seen from outside: who asks the sandbox uses it
		p.eventually(name+" in the sandbox", func() bool {
			found, _ := filepath.Glob(p.state("local", "*", "workspace", name))
			return len(found) == 1
		})
	}
	made("begun")
	a.signal(syscall.SIGKILL)
	_ = a.cmd.Wait()
	made("done")
	p.eventually("the end of an idle sandbox", func() bool { return len(p.ls()) == 0 })
	p.nothingRuns()
}

// TestNotebookTimeout: the end of its time ends a sandbox also in the middle of a cell.
func TestNotebookTimeout(t *testing.T) {
	t.Parallel()
	p := newJupyterPlace(t)
	a := p.inNotebook("timeout: 90s")
	a.begin("execute_code", map[string]any{"code": hold("long")})
	p.exists("lab", "long")
	p.eventually("the end of its time", func() bool { return len(p.ls()) == 0 })
	a.in.Close()
	a.wait()
	p.nothingRuns()
}

// TestNotebookStartIsBrokenOff: by kill -9 the sandbox is left to its lease, by Ctrl-C it has
// ended before the program has.
func TestNotebookStartIsBrokenOff(t *testing.T) {
	t.Parallel()
	p := newJupyterPlace(t)
	start := func(timeout time.Duration) *job { // its kernel is never ready, so that it cannot be faster than the signal
		p.write("exp.yaml", fmt.Sprintf("name: test\nsandbox: {execution_mode: notebook, timeout: %v}\n", timeout)+
			"workspace: {init: 'import time; time.sleep(3600)'}\n")
		return p.seer("up", "exp.yaml", "--name", "lab")
	}
	j := start(10 * time.Minute)
	p.eventually("Jupyter is started", func() bool { return strings.Contains(j.said(), "starting Jupyter") })
	j.signal(syscall.SIGINT)
	p.check(j.wait(), 130, "stopping: ending what was started")
	if left := p.ls(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	p.nothingRuns()
	p.nothingLies()

	for lease := 90 * time.Second; ; lease *= 2 {
		j = start(lease)
		p.eventually("a kernel is prepared", func() bool { return strings.Contains(j.said(), "preparing a kernel") || j.over() })
		j.signal(syscall.SIGKILL)
		if r := j.wait(); r.code == 137 || lease > 2*time.Minute { // else it was too slow for its lease
			p.check(r, 137)
			break
		}
	}
	p.nothingRuns() // the lease
	p.age()
	p.ok("gc")
	if left := p.ls(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNotebookRunsSideBySide: two agents with a notebook each, of which one is killed with
// its program in the middle of a cell.
func TestNotebookRunsSideBySide(t *testing.T) {
	t.Parallel()
	p := newJupyterPlace(t)
	p.write("agent.py", notebookAgent)
	p.write("run.yaml", "name: test\nsandbox: {timeout: 10m, execution_mode: notebook}\nworkspace: {files: [agent.py]}\nagent: {command: [python3, -u, agent.py]}\n")
	one := p.seer("run", "run.yaml", "-q", "--set", "workspace.dir=first é", "--set", "outputs=out 1")
	two := p.seer("run", "run.yaml", "-q", "--set", "workspace.dir=second", "--set", "outputs=out 2")
	p.eventually("both work", func() bool { return p.has("first é/started") && p.has("second/started") })
	two.signal(syscall.SIGKILL)
	p.check(two.wait(), 137)
	p.write("first é/go", "")
	p.check(one.wait(), 0, "from the notebook: 42")
	if !strings.Contains(p.copies("out 1"), "from the notebook") {
		t.Error("the notebook is not among the results")
	}
}

const notebookAgent = `
import json, os, subprocess, time
server = json.load(open("mcp.json"))["mcpServers"]["notebook"]
p = subprocess.Popen([server["command"], *server["args"]], env={**os.environ, **server.get("env", {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
number = 0
def ask(method, params):
    global number
    number += 1
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    while True:
        m = json.loads(p.stdout.readline())
        if m.get("id") == number and "method" not in m:
            return m["result"]
ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
p.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
ask("tools/call", {"name": "start_new_session", "arguments": {}})
open("started", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
r = ask("tools/call", {"name": "execute_code", "arguments": {"code": "print('from the notebook:', 6 * 7)"}})
print("".join(c.get("text", "") for c in r["content"]))
p.stdin.close()
p.wait()
`
