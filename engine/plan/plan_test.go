package plan_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

const file = `name: intro
sandbox:
  models: [./tiny-model, {name: google/gemma-2-9b, hidden: true}]
  python_packages: [numpy>=1.24, torch]
  secrets: [TOKEN]
  env: {B: x, A: y}
  timeout: 2h
  idle_timeout: 90s
  ports: [8000, 8001]
  local_files: [[./a.txt, /workspace/a.txt], [./b.txt, /sandbox/b.txt]]
  local_dirs: [[./data, /workspace/data]]
serve: [{file: interface.py, name: model_tools}]
workspace: {libraries: [helpers.py], files: [agent.py]}
agent: {command: [python3, agent.py]}
`

func local() preflight.Report {
	return preflight.Report{
		Provider:  sdk.ProviderInfo{Name: "local", Features: []sdk.Feature{sdk.FeatureHostMounts}},
		Isolation: "bubblewrap", AgentIsolation: "bubblewrap",
		Findings: []preflight.Finding{{Severity: preflight.SeverityWarning, Error: experiment.Error{File: "e.yaml", Line: 12, Path: "serve.0.file", Message: "no @expose"}}},
	}
}

func read(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	exp, err := experiment.Parse([]byte(text), "/lab/e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

func TestPlan(t *testing.T) {
	exp := read(t, file)
	p, err := plan.Make(exp, local())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "full.json", asJSON(t, p))
	golden(t, "full.txt", strings.Join(p.Lines(), "\n")+"\n")
	again, err := plan.Make(exp, local())
	if err != nil || asJSON(t, again) != asJSON(t, p) {
		t.Errorf("two plans of one experiment differ (%v)", err)
	}
}

func TestPlanOfNearlyNothing(t *testing.T) {
	p, err := plan.Make(read(t, "{}"), preflight.Report{Provider: sdk.ProviderInfo{Name: "cloud"}, GPU: "H100"})
	if err != nil {
		t.Fatal(err)
	}
	if text := asJSON(t, p); strings.Contains(text, ": null") != strings.Contains(text, `"cost_per_hour": null`) || p.CostPerHour != nil || p.GPUCount != 1 {
		t.Errorf("got %s", text)
	}
	if text := strings.Join(p.Lines(), "\n"); !strings.Contains(text, "cloud, 1 × H100") || !strings.Contains(text, "not known before the provider is asked") {
		t.Errorf("got %s", text)
	}
}

func TestNoPlanForWhatCannotWork(t *testing.T) {
	report := local()
	report.Findings[0].Severity = preflight.SeverityError
	_, err := plan.Make(read(t, file), report)
	var all experiment.Errors
	if !errors.As(err, &all) || all[0].Line != 12 {
		t.Errorf("got %v", err)
	}
}

func asJSON(t *testing.T, p plan.Plan) string {
	t.Helper()
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

var update = flag.Bool("update", false, "write the files of testdata anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}
