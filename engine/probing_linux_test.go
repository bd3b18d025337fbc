package engine_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testsource"
)

const (
	hiddenModels = "models: [{name: ./quagmire-9b, hidden: true}]"
	noLoading    = "preload_models: false"
)

// hidden is an experiment with a model whose files tell its name, and further files.
func hidden(t *testing.T, sandbox, workspace string, more map[string]string) *experiment.Experiment {
	t.Helper()
	header := `{"__metadata__":{"format":"pt","source":"acme/Quagmire-9b"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	files := map[string]string{
		"seer.yaml":                     "sandbox: {" + sandbox + ", " + hiddenModels + "}\nworkspace: {" + noLoading + workspace + "}\n",
		"quagmire-9b/config.json":       `{"model_type": "llama", "_name_or_path": "acme/Quagmire-9b"}`,
		"quagmire-9b/README.md":         "# Quagmire 9B",
		"quagmire-9b/model.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "four",
	}
	for name, text := range more {
		files[name] = text
	}
	files["seer.yaml"] += files["top.yaml"]
	return load(t, files)
}

// In a CLI session a hidden model is found by its variable, for commands, code and
// interfaces alike, and by its name nowhere.
func TestHiddenModelInCLI(t *testing.T) {
	e := newEngine(t)
	exp := hidden(t, "execution_mode: cli, network: none", "", map[string]string{"interface.py": `
import os

@expose
def find(name):
    try:
        return sorted(os.listdir(get_model_path(name)))
    except Exception as error:
        return str(error)
`})
	s := up(t, e, exp, engine.UpOptions{})
	look := `ls -R /models; cat /models/model/*; env; mount; tail -n +1 /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>&1; find / -xdev -iname '*quag*'"mire*"; grep -ril 'quag''mire' /models /workspace /tmp /run ~`
	said := shell(t, s, "("+look+") || true")
	if !strings.Contains(said, "/models/model:\nconfig.json\nmodel.safetensors") || !strings.Contains(said, "four") || strings.Contains(strings.ToLower(said), "quagmire") {
		t.Errorf("got %s", said)
	}
	v, err := s.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(filepath.Dir(exp.File), "interface.py")})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	if err := v.Call(t.Context(), "find", []any{"model"}, nil, &found); err != nil || len(found) != 2 {
		t.Errorf("by its variable: %q, %v", found, err)
	}
	for _, name := range []string{"./quagmire-9b", "quagmire-9b"} {
		var why string
		if err := v.Call(t.Context(), "find", []any{name}, nil, &why); err != nil || !strings.Contains(why, "model") {
			t.Errorf("by its name: %s, %v", why, err)
		}
	}
}

// Whoever puts the name where the agent can see it is told where, and has no sandbox.
func TestHiddenNameThatIsToldIsFound(t *testing.T) {
	t.Parallel()
	const name = "Quagmire_9B"
	git := testsource.NewGit(t, "")
	git.Commit("planted", map[string]string{"docs/notes é.txt": "weights: acme/" + name + "\n"})
	for _, c := range []struct{ sandbox, workspace, where string }{
		{"", ", libraries: [./lib.py]", "the file /workspace/lib.py"},
		{", " + git.Reached() + ", repos: ['" + git.URL + "/planted.git']", "", "the file /workspace/planted/docs/notes é.txt"},
		{"", ", files: [./data.csv]", "the file /workspace/data.csv"},
		{"", ", init: 'TARGET = \"" + name + "\"'", "workspace.init"},
		{"", ", init: 'import os; os.environ[\"TARGET\"] = \"-\".join([\"quag\" + \"mire\", \"9b\"])'", "environment in the prepared Python"},
		{", env: {TARGET: " + name + "}", "", "the environment"},
		{", local_files: [[./data.csv, /workspace/deep/é/" + name + ".csv]]", "", "the name of /workspace/deep/é/" + name + ".csv"},
	} {
		t.Run(c.where, func(t *testing.T) {
			e := newEngine(t, func(o *engine.Options) { o.Trust = trust.All })
			exp := hidden(t, "execution_mode: cli, network: none"+c.sandbox, c.workspace, map[string]string{"lib.py": "def f():\n    '''Made for " + name + ".'''\n", "data.csv": "model\nacme/" + name + "\n"})
			s, err := e.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute})
			var told *engine.HiddenError
			if engine.KindOf(err) != engine.KindConfig || !errors.As(err, &told) || !strings.Contains(err.Error(), c.where) {
				t.Errorf("got %v", err)
			}
			if err == nil {
				_ = s.Terminate(t.Context())
			}
			runs := func(i engine.Info) bool { return i.State != "stopped" }
			if all, err := e.Sandboxes(t.Context(), true); err != nil || slices.ContainsFunc(all, runs) {
				t.Errorf("left: %+v, %v", all, err)
			}
		})
	}
}

// What the experiment itself gives to the agent is searched before a machine is rented, in
// every mode.
func TestHiddenNameInWhatTheAgentIsGiven(t *testing.T) {
	const name = "Quagmire_9B"
	skill := "---\nname: probing\ndescription: How to probe " + name + ".\n---\nProbe.\n"
	for _, c := range []struct{ mode, top, workspace, where string }{
		{"notebook", "agent: {command: [sleep], prompt: 'Audit " + name + ".'}", "", "agent.prompt"},
		{"cli", "agent: {command: [sleep], prompt: 'Audit " + name + ".'}", "", "agent.prompt"},
		{"null", "agent: {command: [sleep], prompt: 'Audit " + name + ".'}", "", "agent.prompt"},
		{"local", "agent: {command: [sleep], prompt: cXVhZ21pcmUtOWI=}", "", "agent.prompt (base64)"},
		{"cli", "agent: {command: [sleep, " + name + "], prompt: Audit.}", "", "agent.command"},
		{"cli", "agent: {command: [sleep], prompt: Audit., env: {TARGET: " + name + "}}", "", "agent.env"},
		{"cli", "serve: [{file: interface.py, name: quagmire_tools}]", "", "name of serve"},
		{"cli", "", ", skills: [./probing]", "the file .agents/skills/probing/SKILL.md"},
		{"null", "", ", libraries: [./lib.py]", "the prompt"},
		{"null", "", ", files: [./data.gz]", "the file data.gz (gzip)"},
	} {
		t.Run(c.mode+" "+c.where, func(t *testing.T) {
			e := newEngine(t)
			exp := hidden(t, "network: none, execution_mode: "+c.mode, c.workspace, map[string]string{
				"lib.py": "def f():\n    '''Made for " + name + ".'''\n", "data.gz": testkit.Gzip(name),
				"interface.py": "@expose\ndef f() -> int:\n    return 1\n", "probing/SKILL.md": skill, "top.yaml": c.top,
			})
			report, err := e.Check(t.Context(), exp, engine.CheckOptions{Offline: true})
			if err != nil || report.Err() == nil || !strings.Contains(report.Err().Error(), "seer.yaml:1: sandbox.models.0.hidden: ") || !strings.Contains(report.Err().Error(), c.where) {
				t.Errorf("the check says %v, %v", report.Err(), err)
			}
			_, err = e.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute})
			var told *engine.HiddenError
			if engine.KindOf(err) != engine.KindConfig || !errors.As(err, &told) || !slices.Contains(told.Places, c.where) {
				t.Errorf("got %v", err)
			}
			if all, err := e.Sandboxes(t.Context(), true); err != nil || len(all) != 0 {
				t.Errorf("a machine was made: %+v, %v", all, err)
			}
		})
	}
	e := newEngine(t)
	var told *engine.HiddenError
	if _, err := e.Up(t.Context(), hidden(t, "network: none, execution_mode: cli", "", nil), engine.UpOptions{Name: "quagmire-audit", Attached: time.Minute}); !errors.As(err, &told) {
		t.Errorf("the name of the sandbox: %v", err)
	}
}

// The prepared kernel of a notebook is looked at as well, and is as it was.
func TestHiddenModelInNotebook(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"SEER_PYTHON": testbuild.Jupyter(t)})
	told := hidden(t, "execution_mode: notebook", ", init: 'secret = [\"quag\" + \"mire-9b\"]; import os; os.environ[\"TARGET\"] = secret[0]'", nil)
	var found *engine.HiddenError
	if _, err := b.Up(t.Context(), told, engine.UpOptions{Attached: time.Minute}); !errors.As(err, &found) || !strings.Contains(err.Error(), "environment in the prepared Python") {
		t.Errorf("got %v", err)
	}
	s := up(t, b.Engine, hidden(t, "execution_mode: notebook", ", init: 'ready = 7'", nil), engine.UpOptions{Attached: time.Minute})
	client, err := s.Notebook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	sessions, err := client.Sessions(t.Context())
	if err != nil || len(sessions) != 1 || sessions[0].State != "prepared" || sessions[0].ExecutionCount != 0 {
		t.Errorf("the kernel is not as it was: %+v, %v", sessions, err)
	}

	// Whoever has the port of a Jupyter that has ended for good gets no token.
	if err := s.Runtime().Processes().Delete(t.Context(), notebook.ProcessID); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the error of a Jupyter that has ended", func() error {
		again, err := s.Notebook(t.Context())
		if err != nil {
			return err
		}
		defer again.Close()
		_, err = again.Info(t.Context())
		if err != nil && strings.Contains(err.Error(), "has ended and does not come back") {
			return nil
		}
		return fmt.Errorf("it is still used: %v", err)
	})
	env, err := s.Environment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, dialed := s.JupyterDialer(env.JupyterPort)(t.Context())
	_, forked := b.Fork(t.Context(), s.ID(), 1, engine.ForkOptions{})
	for what, err := range map[string]error{"the agent's way": dialed, "a fork": forked} {
		if err == nil || !strings.Contains(err.Error(), "Jupyter of "+s.ID()+" has ended and does not come back") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
