package experiment_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

// An experiment that is read back from its canonical form is the same sandbox.
func TestFromConfig(t *testing.T) {
	t.Parallel()
	text := `
name: e
sandbox:
  execution_mode: notebook
  timeout: 2h
  memory: 16GB
  models:
    - {name: org/a, var_name: a, dtype: float32}
    - {name: org/a, revision: old, hidden: true, var_name: b}
    - {name: org/c, is_peft: true, base_model: org/a, var_name: c}
  datasets: [org/d]
  repos: [{url: org/repo, install: pip install -e .}]
  local_files: [[here.txt, /workspace/there.txt]]
workspace: {preload_models: false, init: "x = 1"}
`
	exp, err := experiment.Parse([]byte(text), t.TempDir()+"/e.yaml", experiment.LoadOptions{Partial: true})
	if exp == nil {
		t.Fatal(err)
	}
	built := &experiment.Experiment{Sandbox: exp.Sandbox, Workspace: exp.Workspace}
	for _, from := range []*experiment.Experiment{exp, built} {
		config, err := from.Config()
		if err != nil {
			t.Fatal(err)
		}
		back, err := experiment.FromConfig(config)
		if err != nil {
			t.Fatalf("%v\n%s", err, config)
		}
		back.Sandbox.LocalFiles, back.Workspace.Dir = from.Sandbox.LocalFiles, from.Workspace.Dir // of another folder
		if !reflect.DeepEqual(back.Sandbox, from.Sandbox) || !reflect.DeepEqual(back.Workspace, from.Workspace) {
			t.Errorf("it was\n%+v\n%+v\nand is\n%+v\n%+v", from.Sandbox, from.Workspace, back.Sandbox, back.Workspace)
		}
	}
	if _, err := experiment.FromConfig([]byte("[1]")); err == nil || bytes.Contains([]byte(err.Error()), []byte("nil")) {
		t.Error(err)
	}
}
