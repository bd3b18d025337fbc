package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/runs/report"
	"github.com/seer-engine/seer/engine/surface"
)

// aloneIn are the options of an agent that works with a sandbox of the experiment, which serves the
// functions of tools.
func aloneIn(t *testing.T, e *engine.Engine, exp *experiment.Experiment, dir string) run.AgentOptions {
	t.Helper()
	s, err := e.Up(t.Context(), exp, engine.UpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Terminate(context.Background()), s.Close()); err != nil {
			t.Error(err)
		}
	})
	v, err := s.Serve(t.Context(), engine.ServeOptions{File: exp.Serve[0].File, Name: "tools", ExposeAs: "library"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := v.Expose(t.Context(), "library", nil)
	if err == nil {
		_, err = surface.Write(t.Context(), dir, made, surface.Target{Connection: v.Connection()})
	}
	if err != nil {
		t.Fatal(err)
	}
	return run.AgentOptions{
		Agent: &experiment.Agent{Provider: experiment.ProviderCommand, Command: []string{"python3", "agent.py"}, Prompt: "Do it.", Isolation: isolation.Auto, Network: "none"},
		Name:  "t", Dir: dir, Runs: filepath.Join(filepath.Dir(dir), "agent runs"), Sandboxes: []*engine.Sandbox{s},
	}
}

// A run of an agent alone has a record of the calls that were made in it, with their arguments, and
// its page links them; calls before it are not its own.
func TestAgentAloneRecordsCalls(t *testing.T) {
	t.Parallel()
	e, exp := setup(t, "", "")
	dir := filepath.Join(t.TempDir(), "alone")
	o := aloneIn(t, e, exp, dir)
	before, err := o.Sandboxes[0].Service(t.Context(), "tools")
	if err == nil {
		err = before.Call(t.Context(), "twice", []any{1}, nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "agent.py", `
import os, tools
job = tools.twice.submit(21)
open(os.environ["SEER_OUTPUTS"] + "/report.md", "w").write(f"It is {job.result()} [call:{job.id}].")
tools.twice(4)
`)
	result, err := run.Agent(t.Context(), e, o)
	if err != nil || result.ExitCode != 0 || result.Calls != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	kept, err := runs.Open(result.Folder)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := kept.Calls()
	if err != nil || len(calls) != 2 || kept.Summary.Calls != 2 {
		t.Fatalf("%+v, %v", calls, err)
	}
	folder, err := run.Recorded(result.Folder)
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := folder.Body(calls[0].Arguments)
	if err != nil || calls[0].Function != "twice" {
		t.Errorf("%+v: %v, %v", calls[0], arguments, err)
	}
	var page strings.Builder
	if err := report.Write(&page, kept); err != nil || !strings.Contains(page.String(), `href="#call-`+calls[0].ID+`"`) {
		t.Errorf("%v: the page has no link to %s", err, calls[0].ID)
	}
	player, err := record.NewPlayer(folder)
	if err != nil || len(player.Services()) != 1 {
		t.Errorf("it cannot be played again: %v", err)
	}
}

// After a run of an agent alone it is said, too, where the name of a hidden model could be seen.
func TestAgentAloneAndHiddenNames(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"seen": `
import base64, os, tools
said = tools.says()
print("it says", said)
open(os.environ["SEER_OUTPUTS"] + "/notes.b64", "wb").write(base64.b64encode(said.encode()))
`,
		"unseen": "print('nothing')",
	} {
		t.Run(name, func(t *testing.T) {
			e, exp := blinded(t, "", "null")
			write(t, filepath.Dir(exp.File), "interface.py", "@expose\ndef says() -> str:\n    return 'quag' + 'mire'\n")
			dir := filepath.Join(t.TempDir(), "alone")
			o := aloneIn(t, e, exp, dir)
			write(t, dir, "agent.py", script)
			var told []string
			o.Progress = func(ev engine.Event) { told = append(told, eventtext.Sentence(ev)) }
			result, err := run.Agent(t.Context(), e, o)
			if err != nil || result.ExitCode != 0 {
				t.Fatalf("%+v, %v", result, err)
			}
			want, sentence := []run.HiddenName(nil), "found no name of a hidden model in the agent's output"
			if name == "seen" {
				want = []run.HiddenName{{Where: "agent.log", Times: 1}, {Where: "outputs/notes.b64 (base64)", Times: 1}, {Where: "the sandbox's answers to the agent", Times: 1}}
				sentence = "the name of a hidden model was seen: once in agent.log"
			}
			if !equal(result.HiddenNames, want) || !strings.Contains(strings.Join(told, "\n"), sentence) {
				t.Errorf("seen %+v: %s", result.HiddenNames, strings.Join(told, "\n"))
			}
			kept, err := runs.Open(result.Folder)
			if err != nil {
				t.Fatal(err)
			}
			noted := false
			for ev, err := range kept.Events() {
				if err != nil {
					t.Fatal(err)
				}
				switch ev.Data.(type) {
				case event.HiddenNamesSeen:
					noted = noted || name == "seen"
				case event.HiddenNamesUnseen:
					noted = noted || name == "unseen"
				}
			}
			if !noted {
				t.Error("the log does not say it")
			}
		})
	}
}

// An agent alone does not start if the name of a hidden model is in what it is given.
func TestAgentAloneIsNotToldHiddenNames(t *testing.T) {
	t.Parallel()
	e, exp := blinded(t, "", "null")
	dir := filepath.Join(t.TempDir(), "alone")
	o := aloneIn(t, e, exp, dir)
	write(t, dir, "agent.py", "print('ran')")
	o.Agent.Prompt = "Say that it is quagmire."
	if _, err := run.Agent(t.Context(), e, o); engine.KindOf(err) != engine.KindConfig || !strings.Contains(err.Error(), "its prompt") {
		t.Error(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
