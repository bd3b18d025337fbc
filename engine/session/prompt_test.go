package session

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/workspace"
)

// An agent is told which repositories there are, but neither where they are on this
// computer nor what opens them.
func TestPromptTellsNoPathsOfThisComputer(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"org/repo":                        "org/repo",
		"https://example.org/a/repo.git":  "https://example.org/a/repo.git",
		"https://u:t0ken@example.org/a/b": "b",
		"file:///home/me/secret/repo":     "repo",
		"/home/me/secret/repo.git":        "repo",
		"./repo":                          "repo",
		"git@example.org:me/repo.git":     "repo",
		"ssh://git@example.org/me/repo":   "repo",
	} {
		exp := &experiment.Experiment{}
		exp.Sandbox.ExecutionMode, exp.Sandbox.Repos = experiment.ModeCLI, []experiment.Repo{{URL: given, Install: "pip install -e ."}}
		name := exp.Sandbox.Repos[0].Name()
		if got := Prompt(exp, workspace.Workspace{}); !strings.Contains(got, "- "+want+" is in /workspace/"+name+"\n") && !strings.HasSuffix(got, "- "+want+" is in /workspace/"+name) {
			t.Errorf("%s: %s", given, got)
		}
		exp.Sandbox.Repos[0].Install = "" // importing it brings nothing, which looks like a defect
		if got := Prompt(exp, workspace.Workspace{}); !strings.Contains(got, "- "+want+" is in /workspace/"+name+", not installed: ") {
			t.Errorf("%s: %s", given, got)
		}
	}
}
