package run_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/testkit"
)

const localAgent = `
import os, tools, helpers, analysis
print(tools.shouted("a"), helpers.shout("b"), analysis.mean([1, 2, 3]))
print(open("prepared").read(), open("data/numbers.txt").read(), open("deep/é.txt").read())
for place in (".claude/skills", ".agents/skills"):
    print(open(place + "/probing/SKILL.md").read().splitlines()[1], os.access(place + "/probing/run.sh", os.X_OK))
`

// A local session: the agent's own folder has what the experiment lists, and what is
// served imports the libraries, too.
func TestLocalSession(t *testing.T) {
	e, exp := setup(t, localAgent, "")
	dir := filepath.Dir(exp.File)
	testkit.WriteFiles(t, dir, map[string]string{
		"interface.py":            "import helpers\n@expose\ndef shouted(x: str) -> str:\n    return helpers.shout(x)\n",
		"analysis/__init__.py":    "from .means import mean\n",
		"analysis/means.py":       "def mean(x): return sum(x) / len(x)\n",
		"skills/probing/run.sh":   "#!/bin/sh\n",
		"skills/probing/SKILL.md": "---\nname: probing\ndescription: How to probe.\n---\nProbe.\n",
		"some data/numbers.txt":   "1 2 3",
		"note.txt":                "ü",
	})
	if err := os.Chmod(filepath.Join(dir, "skills/probing/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	exp.Sandbox.ExecutionMode = experiment.ModeLocal
	exp.Sandbox.LocalDirs = []experiment.Pair{{Local: filepath.Join(dir, "some data"), Remote: "/workspace/data"}}
	exp.Sandbox.LocalFiles = []experiment.Pair{{Local: filepath.Join(dir, "note.txt"), Remote: "/workspace/deep/é.txt"}}
	exp.Workspace.Libraries = append(exp.Workspace.Libraries, filepath.Join(dir, "analysis"))
	exp.Workspace.SkillDirs = []string{filepath.Join(dir, "skills")}
	exp.Workspace.Init = "open('prepared', 'w').write('ready')"
	var out bytes.Buffer
	result, err := run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out})
	want := "a! b! 2.0\nready 1 2 3 ü\nname: probing True\nname: probing True\n"
	if err != nil || result.ExitCode != 0 || out.String() != want {
		t.Errorf("%+v, %v:\n%s", result, err, out.String())
	}
}

// An agent is told of the libraries in every kind of session, and in one that is played
// again.
func TestPromptHasLibraries(t *testing.T) {
	t.Parallel()
	e, exp := setup(t, "import helpers, steer, tools; tools.twice(1); print(open('prompt.md').read())", "")
	dir := filepath.Dir(exp.File)
	testkit.WriteFiles(t, dir, map[string]string{
		"skills/steer/SKILL.md": "---\nname: steer\ndescription: How to steer.\n---\nTurn the wheel.\n",
		"skills/steer/code.py":  "def turn(): pass\n",
	})
	exp.Workspace.Libraries = append(exp.Workspace.Libraries, filepath.Join(dir, "skills/steer"))
	var out bytes.Buffer
	told := func(what string, err error) {
		task, libraries, served := strings.Index(out.String(), "Do it."), strings.Index(out.String(), "## Libraries"), strings.Index(out.String(), "twice(")
		if err != nil || task != 0 || libraries < 0 || served < libraries || strings.Count(out.String(), "### helpers") != 1 ||
			!strings.Contains(out.String(), "shout(x)") || !strings.Contains(out.String(), "Turn the wheel.") {
			t.Errorf("%s: %v:\n%s", what, err, out.String())
		}
		out.Reset()
	}
	result, err := run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out})
	told("scoped", err)
	folder, err := record.Open(filepath.Join(result.Folder, "record"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Replay(t.Context(), e, exp, folder, run.Options{Stdout: &out, Stderr: &out})
	told("replayed", err)
	exp.Sandbox.ExecutionMode = experiment.ModeLocal
	_, err = run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out})
	told("local", err)
}

// Code before the agent that fails is an error, and the agent does not run.
func TestInitThatFails(t *testing.T) {
	e, exp := setup(t, "print('the agent')", "")
	exp.Workspace.Init = "raise RuntimeError('no data')"
	var out bytes.Buffer
	_, err := run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out})
	if engine.KindOf(err) != engine.KindConfig || !strings.Contains(out.String(), "RuntimeError: no data") || strings.Contains(out.String(), "the agent") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// What the Python beside the sandbox lacks is told with what would help there: packages of
// the sandbox would not.
func TestInitThatLacksAModule(t *testing.T) {
	t.Parallel()
	e, exp := setup(t, "print('the agent')", "")
	for code, want := range map[string]string{
		"import nowhere_to_be_found": "has no module `nowhere_to_be_found`; install `nowhere_to_be_found` for it, or set SEER_PYTHON to a Python that has it: workspace.init ended with exit code 1",
		"import beside":              "the sandbox has no module `beside`; add `beside.py` to workspace.libraries",
	} {
		testkit.WriteFiles(t, filepath.Dir(exp.File), map[string]string{"beside.py": ""})
		exp.Workspace.Init = "print('x' * 100000)\n" + code
		_, err := run.Run(t.Context(), e, exp, run.Options{Stdout: io.Discard, Stderr: io.Discard})
		if engine.KindOf(err) != engine.KindConfig || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// What cannot be put into a workspace is said before anything is started.
func TestWorkspacesThatCannotBe(t *testing.T) {
	e, exp := setup(t, "", "")
	testkit.WriteFiles(t, filepath.Dir(exp.File), map[string]string{"bad/SKILL.md": "no front matter"})
	exp.Workspace.Skills = []string{filepath.Join(filepath.Dir(exp.File), "bad")}
	_, err := run.Run(t.Context(), e, exp, run.Options{})
	if engine.KindOf(err) != engine.KindConfig || !strings.Contains(err.Error(), "SKILL.md") {
		t.Errorf("got %v", err)
	}
}

// An agent that is given a shell uses the sandbox with a key of its own.
func TestShellSessionNeedsSeer(t *testing.T) {
	e, exp := setup(t, "", "")
	exp.Sandbox.ExecutionMode, exp.Serve = experiment.ModeCLI, nil
	_, err := run.Run(t.Context(), e, exp, run.Options{})
	if engine.KindOf(err) != engine.KindUnsupported {
		t.Errorf("got %v", err)
	}
}
