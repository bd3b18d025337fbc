package run_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/run"
)

const hostileAgent = `
import os
for top in (".", os.environ["SEER_OUTPUTS"]):
    os.makedirs(top + "/.git/hooks")
    open(top + "/.git/config", "w").write("[core]\n\tfsmonitor = evil\n")
    open(top + "/.envrc", "w").write("evil")
open(".vscode/settings.json", "w").write("evil")
os.remove("helpers.py"); os.mkfifo("helpers.py")
os.symlink("/etc/passwd", os.environ["SEER_OUTPUTS"] + "/users")
os.mkfifo(os.environ["SEER_OUTPUTS"] + "/pipe")
`

// TestAgentLeavesNothingThatIsObeyed: a confined agent plants repositories and settings in
// its workspace and its outputs.
func TestAgentLeavesNothingThatIsObeyed(t *testing.T) {
	t.Parallel()
	e, exp := setup(t, hostileAgent, "")
	mine := filepath.Join(exp.Workspace.Dir, ".vscode", "settings.json")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said []string
	result, err := run.Run(t.Context(), e, exp, run.Options{Progress: func(ev engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, eventtext.Sentence(ev))
	}})
	if err != nil || result.ExitCode != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, dir := range []string{exp.Workspace.Dir, result.Outputs} {
		got := files(t, dir)
		if !slices.Contains(got, ".git.collected/config") || !slices.Contains(got, ".envrc.collected") {
			t.Errorf("%s has %q", dir, got)
		}
		if slices.ContainsFunc(got, func(name string) bool { return strings.HasPrefix(name, ".git/") || name == "users" || name == "pipe" }) {
			t.Errorf("%s has %q", dir, got)
		}
	}
	if data, err := os.ReadFile(mine); string(data) != "mine" {
		t.Errorf("the user's settings are %q: %v", data, err)
	}
	if all := strings.Join(said, "\n"); strings.Count(all, "programs would obey") != 2 || !strings.Contains(all, "restored as before") {
		t.Errorf("warnings: %s", all)
	}
}

// TestAgentAloneLeavesNothingThatIsObeyed: the time to ask sandboxes is over, and the workspace is
// made safe all the same.
func TestAgentAloneLeavesNothingThatIsObeyed(t *testing.T) {
	t.Parallel()
	o := run.AgentBounded(alone(t, "open('.envrc', 'w')\nopen('outputs/.envrc', 'w')\n"), func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, end := context.WithCancel(ctx)
		end()
		return ctx, end
	})
	result, err := run.Agent(t.Context(), installed.Engine(t), o)
	if err != nil || result.ExitCode != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if got, want := files(t, o.Dir), []string{".envrc.collected", "agent.py", "outputs/.envrc.collected"}; !slices.Equal(got, want) {
		t.Errorf("the agent's folder has %q, not %q", got, want)
	}
}
