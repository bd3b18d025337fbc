package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent/inside"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/internal/testengine"
	"github.com/seer-engine/seer/internal/testkit"
)

var installed testengine.Installation

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == inside.Command { // as the seer program does
		os.Exit(inside.Main(os.Args[2:]))
	}
	testengine.Main(m, &installed)
}

// setup writes an experiment whose agent runs the script, and an engine that
// must have no live sandbox at the end.
func setup(t *testing.T, script, change string) (*engine.Engine, *experiment.Experiment) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "an experiment é")
	testkit.WriteFiles(t, dir, map[string]string{
		"seer.yaml": "name: t\nserve: [{file: interface.py, expose_as: library, name: tools}]\n" +
			"workspace: {files: [agent.py], libraries: [helpers.py]}\nagent: {command: [python3, agent.py], prompt: Do it.}\n" + change,
		"interface.py": "@expose\ndef twice(x: int) -> int:\n    return 2 * x\n",
		"helpers.py":   "def shout(x):\n    return f'{x}!'\n",
		"agent.py":     script,
	})
	e := installed.Engine(t, func(o *engine.Options) { o.ToolDirs = []string{"../../.tools/runsc-" + isolation.RunscBuild} })
	exp, err := experiment.Load(t.Context(), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e, exp
}

// files lists what is below a folder, without Python's caches.
func files(t *testing.T, dir string) []string {
	t.Helper()
	names := []string{}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(p, "__pycache__") {
			rel, _ := filepath.Rel(dir, p)
			names = append(names, rel)
		}
		return nil
	})
	return names
}

const goodAgent = `
import os, sys, json
import tools, helpers
open(os.environ["SEER_OUTPUTS"] + "/é result.txt", "w").write(helpers.shout(tools.twice(21)))
assert open(os.environ["SEER_PROMPT"]).read().startswith("Do it.")
assert json.load(open(os.environ["SEER_MCP_CONFIG"])) == {"mcpServers": {}}
print("to stdout"); print("to stderr", file=sys.stderr)
`

func TestRun(t *testing.T) { runTwice(t, isolation.Auto) }

func runTwice(t *testing.T, kind string) {
	e, exp := setup(t, goodAgent, "")
	exp.Agent.Isolation = kind
	var stdout, stderr bytes.Buffer
	var result run.Result
	for range 2 { // the second finds what the first has left
		stdout.Reset()
		stderr.Reset()
		var err error
		result, err = run.Run(t.Context(), e, exp, run.Options{Stdout: &stdout, Stderr: &stderr})
		if err != nil || result.ExitCode != 0 || result.Files != 1 {
			t.Fatalf("%+v, %v, %s", result, err, &stderr)
		}
	}
	if stdout.String() != "to stdout\n" || stderr.String() != "to stderr\n" {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
	if got, err := os.ReadFile(filepath.Join(result.Outputs, "é result.txt")); string(got) != "42!" {
		t.Errorf("result: %q, %v", got, err)
	}
	outside := slices.DeleteFunc(files(t, result.Folder), func(name string) bool { return strings.HasPrefix(name, "record/") })
	if !slices.Equal(outside, []string{"agent.log", "events.jsonl", "experiment.yaml", "outputs/é result.txt", "prompt.md", "resolved.json", "run.json"}) {
		t.Errorf("the folder of the run: %v", outside)
	}
	// The second run has a record of its own.
	if calls, err := os.ReadFile(filepath.Join(result.Folder, "record", "calls.jsonl")); err != nil || bytes.Count(calls, []byte("\n")) != 1 || !bytes.Contains(calls, []byte(`"twice"`)) {
		t.Errorf("recorded: %s, %v", calls, err)
	}
	// What leads to the sandbox is gone with it; the user's files stay.
	if got := files(t, exp.Workspace.Dir); !slices.Equal(got, []string{"agent.py", "helpers.py", "prompt.md"}) {
		t.Errorf("workspace: %v", got)
	}
	var record struct {
		Services []struct{ Name, CodeHash string }
		ExitCode int `json:"exit_code"`
	}
	data, _ := os.ReadFile(filepath.Join(result.Folder, "run.json"))
	if err := json.Unmarshal(data, &record); err != nil || len(record.Services) != 1 {
		t.Errorf("run.json: %s", data)
	}
}

func TestRunKeepsTheSandbox(t *testing.T) {
	e, exp := setup(t, goodAgent, "")
	result, err := run.Run(t.Context(), e, exp, run.Options{Keep: true})
	if err != nil || !result.Kept {
		t.Fatalf("%+v, %v", result, err)
	}
	s, err := e.Open(t.Context(), result.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Terminate(context.Background())
	v, err := s.Service(t.Context(), "tools")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := v.Call(t.Context(), "twice", []any{2}, nil, &n); err != nil || n != 4 {
		t.Errorf("%d, %v", n, err)
	}
}

// The collection may take any time: the user is asked after it, and the sandbox is kept.
func TestRunKeepsTheSandboxAfterALongCollection(t *testing.T) {
	t.Parallel()
	e, exp := setup(t, "import os, time\nopen(os.environ['SEER_OUTPUTS'] + '/.envrc', 'w')\nprint('ready', flush=True)\ntime.sleep(1000)\n", "")
	var ends []context.CancelFunc // of the contexts so far
	var over bool                 // their time
	o := run.Options{AskKeep: func(ctx context.Context, _ string) bool { return ctx.Err() == nil }}
	o.Progress = func(ev engine.Event) {
		if strings.Contains(eventtext.Sentence(ev), "each is collected with") { // sent by the collection
			over = true
			for _, end := range ends {
				end()
			}
		}
	}
	o = run.Bounded(o, func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, end := context.WithCancel(ctx)
		ends = append(ends, end)
		return ctx, end
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Stdout = onText{"ready", cancel}
	result, err := run.Run(ctx, e, exp, o)
	if engine.KindOf(err) != engine.KindCancelled || !result.Kept || result.Files != 1 || !over {
		t.Fatalf("%+v, %v; over %t", result, err, over)
	}
	s, err := e.Open(t.Context(), result.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Terminate(t.Context()), s.Close()); err != nil {
		t.Error(err)
	}
}

// The lease of a sandbox that could not be detached expires soon: the run does not report it as kept.
func TestRunThatCannotKeepTheSandbox(t *testing.T) {
	t.Parallel()
	e, exp := setup(t, goodAgent, "")
	var told atomic.Bool
	o := run.Options{Keep: true, Progress: func(ev engine.Event) {
		if _, kept := ev.Data.(event.SandboxKept); kept {
			told.Store(true)
		}
	}}
	o = run.Bounded(o, func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, end := context.WithCancel(ctx)
		end()
		return ctx, end
	})
	result, err := run.Run(t.Context(), e, exp, o)
	if err == nil || !strings.HasPrefix(err.Error(), "keep the sandbox "+result.Sandbox) || result.Kept || told.Load() {
		t.Errorf("%+v, %v; told that it is kept: %t", result, err, told.Load())
	}
	if err := e.Terminate(t.Context(), result.Sandbox); err != nil {
		t.Error(err)
	}
}

func TestRunOfAnAgentThatFails(t *testing.T) { runOfAnAgentThatFails(t, isolation.Auto) }

func runOfAnAgentThatFails(t *testing.T, kind string) {
	e, exp := setup(t, "import os, sys\nopen(os.environ['SEER_OUTPUTS'] + '/partial', 'w').write('x')\nsys.exit(7)\n", "")
	exp.Agent.Isolation = kind
	result, err := run.Run(t.Context(), e, exp, run.Options{})
	if err != nil || result.ExitCode != 7 || result.Files != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestRunStopsWhenItIsTold(t *testing.T) { runStopsWhenItIsTold(t, isolation.Auto) }

func runStopsWhenItIsTold(t *testing.T, kind string) {
	for name, agent := range map[string]struct {
		grace  time.Duration
		script string
	}{
		"asked": {time.Minute, "import os, signal, sys, time\nout = os.environ['SEER_OUTPUTS']\n" +
			"def bye(*a):\n    open(out + '/bye', 'w').write('x'); sys.exit(0)\nsignal.signal(signal.SIGTERM, bye)\nprint('ready')\nwhile True: time.sleep(1)\n"},
		"deaf": {time.Second, "import os, signal, time, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" +
			"subprocess.Popen(['setsid', 'sleep', '1000'])\nopen(os.environ['SEER_OUTPUTS'] + '/bye', 'w').write('x')\nprint('ready')\nwhile True: time.sleep(1)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e, exp := setup(t, agent.script, "")
			exp.Agent.Isolation = kind
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result, err := run.Run(ctx, e, exp, run.Options{Stdout: onText{"ready", cancel}, Grace: agent.grace})
			if engine.KindOf(err) != engine.KindCancelled {
				t.Errorf("err = %v", err)
			}
			if result.Files != 1 {
				t.Errorf("its last output was not collected: %+v", result)
			}
		})
	}
}

// checkMade: the log says what the run was made of before the agent has ended, however it ends.
func checkMade(t *testing.T, folder string) {
	t.Helper()
	kept, err := runs.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	p := kept.Provenance()
	if len(kept.SHA256) != 64 || len(p.Services) != 1 || p.Services[0].Name != "tools" || !strings.HasPrefix(p.Services[0].CodeHash, "sha256:") {
		t.Errorf("seer %q, code %+v", kept.SHA256, p.Services)
	}
	if len(p.Plugins) != 1 || p.Plugins[0].ID != "expose-library" || len(p.Plugins[0].SHA256) != 64 || p.Plugins[0].Version == "" {
		t.Errorf("plugins %+v", p.Plugins)
	}
	if len(p.Packages) != 1 || p.Packages[0].Sandbox != kept.Sandbox || !strings.HasPrefix(p.Packages[0].Python, "3.") {
		t.Errorf("packages %+v", p.Packages)
	}
}

// TestLogOfARun: the log says how each run has ended; one that is under way has no end and no
// run.json.
func TestLogOfARun(t *testing.T) {
	t.Parallel()
	e, exp := setup(t, "import os, sys, time\nfirst = not os.path.exists('second')\nopen('second', 'w')\nprint('ready', first, flush=True)\nif first: sys.exit(7)\ntime.sleep(1000)\n", "")
	first, err := run.Run(t.Context(), e, exp, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := summaryOf(t, first.Folder); got.ExitCode == nil || *got.ExitCode != 7 || got.State != runs.Failed || got.ID != first.Run {
		t.Errorf("the first run: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	during := func() { // as a kill would leave it
		folder := filepath.Join(exp.Runs, "latest")
		if got := summaryOf(t, folder); got.ExitCode != nil || got.State != runs.Running {
			t.Errorf("while the second agent runs: %+v", got)
		}
		checkMade(t, folder)
		if _, err := os.Stat(filepath.Join(folder, "run.json")); err == nil {
			t.Error("while the second agent runs, there is a run.json")
		}
		cancel()
	}
	second, err := run.Run(ctx, e, exp, run.Options{Stdout: onText{"ready", during}})
	if engine.KindOf(err) != engine.KindCancelled || second.Folder == first.Folder {
		t.Errorf("%+v, %v", second, err)
	}
	if got := summaryOf(t, second.Folder); got.ExitCode != nil || got.State != runs.Stopped {
		t.Errorf("the run that was stopped: %+v", got)
	}
}

func summaryOf(t *testing.T, folder string) runs.Summary {
	t.Helper()
	r, err := runs.Open(folder)
	if err != nil {
		t.Error(err)
		return runs.Summary{}
	}
	return r.Summary
}

// onText calls then when what it is given holds text.
type onText struct {
	text string
	then func()
}

func (o onText) Write(p []byte) (int, error) {
	if strings.Contains(string(p), o.text) {
		o.then()
	}
	return len(p), nil
}

func TestRunWithABrokenInterfaceLeavesNothing(t *testing.T) {
	e, exp := setup(t, goodAgent, "")
	if err := os.WriteFile(exp.Serve[0].File, []byte("import nothing_of_that_name\n@expose\ndef f(): pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := run.Run(t.Context(), e, exp, run.Options{})
	if engine.KindOf(err) != engine.KindService || !strings.Contains(err.Error(), "add `nothing_of_that_name` to sandbox.python_packages") {
		t.Errorf("err = %v", err)
	}
}
