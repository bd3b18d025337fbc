package run_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/internal/testkit"
)

// alone are the options of an agent of Python in a folder of its own.
func alone(t *testing.T, script string) run.AgentOptions {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "an agent é")
	testkit.WriteFiles(t, dir, map[string]string{"agent.py": script})
	return run.AgentOptions{
		Agent: &experiment.Agent{Provider: experiment.ProviderCommand, Command: []string{"python3", "agent.py"}, Prompt: "Do it.", Isolation: isolation.Auto, Network: "none"},
		Name:  "t", Dir: dir, Runs: filepath.Join(filepath.Dir(dir), "runs"), Resolved: json.RawMessage(`{"name":"t"}`),
	}
}

// A run of an agent alone is a record of what the agent got, said and made. Its results stay.
func TestAgentAlone(t *testing.T) {
	t.Parallel()
	o := alone(t, `
import os
open(os.environ["SEER_OUTPUTS"] + "/é.txt", "w").write(open(os.environ["SEER_PROMPT"]).read())
print("to stdout")
`)
	result, err := run.Agent(t.Context(), installed.Engine(t), o)
	if err != nil || result.ExitCode != 0 || result.Outputs != filepath.Join(o.Dir, "outputs") {
		t.Fatalf("%+v, %v", result, err)
	}
	if got, want := files(t, o.Dir), []string{"agent.py", "outputs/é.txt"}; !slices.Equal(got, want) {
		t.Errorf("the agent's folder has %q, not %q", got, want)
	}
	if got, want := files(t, result.Folder), []string{"agent.log", "events.jsonl", "prompt.md", "resolved.json"}; !slices.Equal(got, want) {
		t.Errorf("the folder of the run has %q, not %q", got, want)
	}
	kept, err := runs.Open(result.Folder)
	if err != nil || kept.State != "finished" || kept.Experiment != "t" || kept.ExitCode == nil || *kept.ExitCode != 0 {
		t.Errorf("%+v, %v", kept, err)
	}
	text := filepath.Join(result.Outputs, "é.txt")
	if !slices.ContainsFunc(kept.Artifacts(), func(a event.RunArtifact) bool { return a.Path == text && a.Kind == "output" && a.Bytes == 7 }) {
		t.Errorf("the log does not name %s: %v", text, kept.Artifacts())
	}
}

// The log names nothing that a link in the place of the results leads to.
func TestAgentAloneLinksItsOutputs(t *testing.T) {
	t.Parallel()
	o := alone(t, "import os\nos.rmdir('outputs')\nos.symlink('../private', 'outputs')\n")
	testkit.WriteFiles(t, filepath.Join(filepath.Dir(o.Dir), "private"), map[string]string{"secret": "s"})
	result, err := run.Agent(t.Context(), installed.Engine(t), o)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(result.Folder, runs.EventsName))
	if err != nil || strings.Contains(string(log), "secret") {
		t.Errorf("%v\n%s", err, log)
	}
}

// An agent that cannot start leaves no run.
func TestAgentAloneRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(*run.AgentOptions)
		kind   engine.Kind
		want   string
	}{
		{func(o *run.AgentOptions) { o.Runs = filepath.Join(o.Dir, "runs") }, engine.KindConfig, "in one another"},
		{func(o *run.AgentOptions) { o.Runs = filepath.Dir(o.Dir) }, engine.KindConfig, "in one another"},
		{func(o *run.AgentOptions) { o.Agent.Provider = "claude" }, engine.KindUnsupported, "needs the seer program"},
		{func(o *run.AgentOptions) { o.Agent.Provider, o.Seer = "gpt", "/bin/true" }, engine.KindConfig, "unknown provider `gpt`"},
		{func(o *run.AgentOptions) {
			o.Agent.Provider, o.Seer, o.Agent.MaxTurns = experiment.ProviderACP, "/bin/true", 5
		}, engine.KindConfig, "Seer cannot count the turns of an agent of provider acp"},
		{func(o *run.AgentOptions) {
			o.Agent.Provider, o.Seer, o.Agent.Tools = "codex", "/bin/true", []string{"shell"}
		}, engine.KindConfig, "Codex cannot be limited to a list of tools"},
		{func(o *run.AgentOptions) { o.Agent.Secrets = []string{"SEER_NO_SUCH"} }, engine.KindConfig, "SEER_NO_SUCH"},
	} {
		o := alone(t, "")
		test.change(&o)
		result, err := run.Agent(t.Context(), installed.Engine(t), o)
		if engine.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) || result.Folder != "" {
			t.Errorf("%q: %+v, %v", test.want, result, err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(o.Dir), "runs")); err == nil {
			t.Errorf("%q: it has left a run", test.want)
		}
	}
}
