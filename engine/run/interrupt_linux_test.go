package run_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// busyAgent has two calls and two cells that do not end, and waits.
const busyAgent = `
import http.client, json, os, socket, time, urllib.parse
import tools
for _ in range(2):
    tools.hold.submit(1000)
with open(os.environ["SEER_MCP_CONFIG"]) as f:
    url = urllib.parse.urlsplit(json.load(f)["mcpServers"]["notebook"]["env"]["SEER_JUPYTER_URL"])
query = urllib.parse.parse_qs(url.query)
jupyter = http.client.HTTPConnection("jupyter")
jupyter.sock = socket.socket(socket.AF_UNIX)
jupyter.sock.connect(url.path)

def post(path, body):
    head = {"Authorization": "token " + query["token"][0], "Content-Type": "application/json"}
    jupyter.request("POST", query["base"][0] + "seer/v1/sessions" + path, json.dumps(body), head)
    return json.load(jupyter.getresponse())

session = post("", {"mode": "new"})["session"]["id"]
begun = [post("/%s/cells" % session, {"source": "import time; time.sleep(1000)", "run": True})["execution"]["id"] for _ in range(2)]
print(" ".join(["ready"] + begun), flush=True) # one write, though nothing is buffered
time.sleep(1000)
`

// TestInterrupt: an agent that is stopped in a sandbox of others leaves no call, no cell and no
// token there. Those of others go on.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.WriteFiles(t, dir, map[string]string{
		"seer.yaml": "name: t\nsandbox: {execution_mode: notebook}\nserve: [{file: interface.py, expose_as: library, name: tools}]\n" +
			"agent: {command: [python3, -c, CODE], prompt: Do it.}\n",
		"interface.py": "import time\n@expose\ndef hold(seconds: int):\n    time.sleep(seconds)\n",
	})
	exp, err := experiment.Load(t.Context(), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	exp.Agent.Command[2] = busyAgent
	python := testbuild.Jupyter(t)
	e := installed.Engine(t, func(o *engine.Options) {
		o.LookupEnv = func(name string) (string, bool) {
			if name == "SEER_PYTHON" {
				return python, true
			}
			return os.LookupEnv(name)
		}
	})
	s, err := e.Up(t.Context(), exp, engine.UpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Terminate(context.Background()) }()
	tools, err := s.Serve(t.Context(), engine.ServeOptionsOf(exp.Serve[0]))
	if err != nil {
		t.Fatal(err)
	}
	jupyter, err := s.Notebook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer jupyter.Close()
	others, _, err := jupyter.StartSession(t.Context(), notebook.NewSession{Mode: notebook.New})
	if err != nil {
		t.Fatal(err)
	}
	cell, err := jupyter.AddCell(t.Context(), others.ID, notebook.NewCell{Source: "import time; time.sleep(1000)", Run: true})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var call *client.PendingCall // waits for those of the agent
	ready := func() {
		if call, err = tools.Start(t.Context(), client.CallRequest{Function: "hold", Args: []any{0}}, client.CallHandler{}); err != nil {
			t.Error(err)
		}
		cancel()
	}
	var seen seen
	result, err := run.Run(ctx, e, exp, run.Options{In: s.ID(), Seer: "/bin/true", Stdout: onText{"ready", ready}, Progress: seen.take})
	if engine.KindOf(err) != engine.KindCancelled || call == nil {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, err := call.Wait(t.Context()); err != nil {
		t.Errorf("the call of another client: %v", err)
	}
	if got, err := jupyter.Execution(t.Context(), cell.Execution.ID); err != nil || got.State != notebook.Running {
		t.Errorf("the cell of another client: %+v, %v", got, err)
	}
	calls, err := tools.Calls(t.Context())
	cancelled := slices.DeleteFunc(calls, func(c protocol.Call) bool { return c.State != protocol.CallWasCancelled })
	if err != nil || len(cancelled) != 2 {
		t.Errorf("%+v, %v", calls, err)
	}
	said, err := os.ReadFile(filepath.Join(result.Folder, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(said))
	if len(words) != 3 {
		t.Fatalf("the agent said %q", said)
	}
	for i, want := range []notebook.ExecutionState{notebook.Interrupted, notebook.Dropped} {
		if got, err := jupyter.Wait(t.Context(), words[1+i]); err != nil || got.State != want {
			t.Errorf("cell %d of the agent: %+v, %v", i, got, err)
		}
	}
	if tokens, err := tools.Tokens(t.Context()); err != nil || len(tokens) != 1 {
		t.Errorf("tokens: %+v, %v", tokens, err)
	}
	if left := files(t, exp.Workspace.Dir); !slices.Equal(left, []string{"prompt.md"}) {
		t.Errorf("the workspace has %v", left)
	}
	if warnings := all[event.AgentWarning](&seen); len(warnings) != 0 {
		t.Errorf("%+v", warnings)
	}
}

// startingAgent starts commands by its shell session, one of which does not end when it is asked.
const startingAgent = shellClient + `
way = Way("sandbox")
for shell in ["sleep 1000", "trap '' TERM; echo; while :; do sleep 0.1; done"]:
    way.request("POST", "/v1/processes", json.dumps({"shell": shell, "background": True}), {"Authorization": "Bearer " + key["token"]})
    p = json.load(way.getresponse())
    print("started", p["id"], flush=True)
print("ready", flush=True)
time.sleep(1000)
`

// TestInterruptedCommands: an agent that is stopped leaves none of its commands in a sandbox of others.
func TestInterruptedCommands(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{isolation.Bubblewrap, isolation.None} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, exp := setup(t, startingAgent, "sandbox: {execution_mode: cli, network: none}\n")
			exp.Serve, exp.Workspace.Libraries, exp.Workspace.NoPreload = nil, nil, true
			exp.Agent.Isolation, exp.Agent.Network, exp.File = kind, "open", "" // nobody has to confirm it
			s, err := e.Up(t.Context(), exp, engine.UpOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Terminate(context.Background()) }()
			processes := s.Runtime().Processes()
			others, err := processes.Start(t.Context(), protocol.ProcessSpec{Shell: "sleep 1000", Background: true})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result, err := run.Run(ctx, e, exp, run.Options{In: s.ID(), Seer: "/bin/true", Stdout: onText{"ready", cancel}})
			if engine.KindOf(err) != engine.KindCancelled {
				t.Fatalf("%+v, %v", result, err)
			}
			all, err := processes.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			said, err := os.ReadFile(filepath.Join(result.Folder, "agent.log"))
			if err != nil || strings.Count(string(said), "started") != 2 {
				t.Fatalf("%v: %s", err, said)
			}
			for _, p := range all {
				if own := strings.Contains(string(said), "started "+p.ID+"\n"); own == (p.State == protocol.ProcessRunning) && (own || p.ID == others.ID) {
					t.Errorf("the agent's %v: %+v", own, p)
				}
			}
		})
	}
}
