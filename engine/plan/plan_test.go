package plan_test

import (
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/internal/testkit"
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
		Provider: sdk.ProviderInfo{Name: "local", Features: []sdk.Feature{sdk.FeatureHostMounts}},
		Choices: []preflight.Choice{{Provider: sdk.ProviderInfo{Name: "local", Features: []sdk.Feature{sdk.FeatureHostMounts}},
			Offer: sdk.Offer{ID: "local", Region: "linux/amd64", Stock: sdk.StockHigh}, Isolation: "bubblewrap"}},
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
	testkit.Golden(t, *update, "testdata/full.json", asJSON(t, p))
	testkit.Golden(t, *update, "testdata/full.txt", strings.Join(p.Lines(), "\n")+"\n")
	again, err := plan.Make(exp, local())
	if err != nil || asJSON(t, again) != asJSON(t, p) {
		t.Errorf("two plans of one experiment differ (%v)", err)
	}
}

func TestPlanOfNearlyNothing(t *testing.T) {
	p, err := plan.Make(read(t, "{}"), preflight.Report{
		Provider: sdk.ProviderInfo{Name: "cloud"}, GPU: "H100",
		Choices: []preflight.Choice{{Provider: sdk.ProviderInfo{Name: "cloud"}, GPU: "H100", GPUCount: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := asJSON(t, p); strings.Count(text, ": null") != 3 || p.CostPerHour != nil || p.GPUCount != 1 {
		t.Errorf("got %s", text)
	}
	if text := strings.Join(p.Lines(), "\n"); !strings.Contains(text, "cloud, 1 × H100") || !strings.Contains(text, "not known before the provider is asked") {
		t.Errorf("got %s", text)
	}
}

const rented = `name: wide
sandbox:
  provider: [runpod, modal, local]
  gpu: H100
  gpu_count: 2
  cpu: 4.5
  memory: 16GB
  disk: 100
  region: [eu, us-east]
  timeout: 1d
  budget: 20
  max_price: 8
  image: {base: "debian:12", commands: [touch /made]}
  python_packages: [torch]
  system_packages: [git]
  volumes: [{name: weights, path: /models, size: 50}, {name: sets, path: /data, read_only: true}]
  provider_options: {modal: {app: lab}}
  local_dirs: [[./data, /sandbox/data]]
`

// clouds is a report with three choices: one that installs, one that builds, and
// this computer.
func clouds() preflight.Report {
	runpod := sdk.ProviderInfo{Name: "runpod", PollSeconds: 2}
	modal := sdk.ProviderInfo{Name: "modal", Features: []sdk.Feature{sdk.FeatureBuild}}
	here := local().Choices[0]
	return preflight.Report{Provider: runpod, GPU: "H100-SXM", Choices: []preflight.Choice{
		{Provider: runpod, Offer: sdk.Offer{ID: "h", GPU: "H100-SXM", Region: "EU-RO-1", CostPerHour: 6, Stock: sdk.StockLow}, GPU: "H100-SXM", GPUCount: 2},
		{Provider: modal, Offer: sdk.Offer{ID: "H100", GPU: "H100", CostPerHour: 8}, GPU: "H100", GPUCount: 2},
		here,
	}}
}

// A plan says which GPU of this computer it would be, and who has the others.
func TestPlanOfAGPUHere(t *testing.T) {
	report := local()
	report.GPU, report.Choices[0].GPU, report.Choices[0].GPUCount = "H100-SXM", "H100-SXM", 1
	p, err := plan.Make(read(t, "sandbox: {gpu: H100, gpu_share: 20GB}"), report)
	if err != nil {
		t.Fatal(err)
	}
	if spec := p.Spec(p.Choices[0]); spec.GPUShare == nil || *spec.GPUShare != (sdk.GPUShare{GB: 20}) {
		t.Errorf("%+v", spec)
	}
	p.GPUs = []plan.GPUUse{{Label: "GPU 0 (H100-SXM)", UsedBy: "sandbox lab of alice", TotalMemory: 79.65}, {Label: "GPU 1 (H100-SXM)", Taken: true, FreeMemory: 79.65, TotalMemory: 79.65}}
	text := strings.Join(p.Lines(), "\n")
	for _, want := range []string{
		"gpu share   20 GB of the memory of each GPU; torch keeps to it, and a sandbox that uses more ends\n",
		"gpu         GPU 0 (H100-SXM), 0 B of 85.5 GB free, used by: sandbox lab of alice\n",
		"gpu         GPU 1 (H100-SXM), 85.5 GB of 85.5 GB free; it would be this one now\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestPlanOfClouds(t *testing.T) {
	p, err := plan.Make(read(t, rented), clouds())
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, *update, "testdata/clouds.json", asJSON(t, p))
	testkit.Golden(t, *update, "testdata/clouds.txt", strings.Join(p.Lines(), "\n")+"\n")
	for _, c := range p.Choices {
		if cost := *c.CostPerHour * c.Timeout / 3600; cost > 20 {
			t.Errorf("%s may cost $%.4f", c.Provider, cost)
		}
	}
	if p.Choices[0].Timeout != 12000 || p.Choices[1].Timeout != 9000 || p.Choices[2].Timeout != 86400 || *p.MaxCost != 20 {
		t.Errorf("got %+v, at most %v", p.Choices, *p.MaxCost)
	}
}

// A plan says which provider is asked first, and what happens while its queue is long.
func TestPlanOfAQueue(t *testing.T) {
	slurm := sdk.ProviderInfo{Name: "slurm", Features: []sdk.Feature{sdk.FeatureFree, sdk.FeatureQueue}}
	modal := sdk.ProviderInfo{Name: "modal"}
	for name, tc := range map[string]struct {
		max   string
		wait  float64
		queue string
		want  []string
	}{
		"short": {"20m", 700, "3 jobs wait", []string{
			"machine     slurm, 1 × A100, in login, wait ~11 min (3 jobs wait)\nor else     modal, 1 × A100, $2.50 an hour\n",
			"max wait    slurm first; if nothing is free there within 20m, then modal, each for at most 20m; after that the start fails\n"}},
		"long": {"20m", 3 * 3600, "", []string{
			"in login, wait ~3 h\n", "max wait    not slurm, whose queue is longer than 20m now; modal first; if nothing is free there within 20m, the start fails\n"}},
		"not known": {"20m", 0, "3 jobs wait", []string{"in login, 3 jobs wait\n", "max wait    slurm first"}},
	} {
		p, err := plan.Make(read(t, "sandbox: {provider: [slurm, modal], gpu: A100, max_wait: "+tc.max+"}"), preflight.Report{Provider: slurm, GPU: "A100", Choices: []preflight.Choice{
			{Provider: slurm, Offer: sdk.Offer{ID: "login/gpu/a100", GPU: "A100", Region: "login", WaitSeconds: tc.wait, Queue: tc.queue}, GPU: "A100", GPUCount: 1},
			{Provider: modal, Offer: sdk.Offer{ID: "A100", GPU: "A100", CostPerHour: 2.5}, GPU: "A100", GPUCount: 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(p.Lines(), "\n") + "\n"
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in:\n%s", name, want, text)
			}
		}
		if first := p.Choices[0]; first.WaitSeconds != tc.wait || first.Queue != tc.queue || !first.Queues || p.Choices[1].Queues || p.MaxWait != 1200 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestWhatEachChoiceIsGiven(t *testing.T) {
	p, err := plan.Make(read(t, rented), clouds())
	if err != nil {
		t.Fatal(err)
	}
	installs, builds, here := p.Choices[0], p.Choices[1], p.Choices[2]
	if image, install := p.ImageOf(installs); image.Base != "debian:12" || image.PythonPackages != nil || image.Commands != nil ||
		install.PythonPackages[0] != "torch" || install.SystemPackages[0] != "git" || install.Commands[0] != "touch /made" {
		t.Errorf("without images: %+v, %+v", image, install)
	}
	if image, install := p.ImageOf(builds); image.Base != "debian:12" || len(image.PythonPackages)+len(image.SystemPackages)+len(image.Commands) != 3 || install.PythonPackages != nil {
		t.Errorf("with images: %+v, %+v", image, install)
	}
	if image, install := p.ImageOf(here); image.Base != "debian:12" || image.Commands != nil || install.Commands[0] != "touch /made" || install.PythonPackages[0] != "torch" {
		t.Errorf("here: %+v, %+v", image, install)
	}
	if p.UploadsOf(installs)[0].Mount || !p.UploadsOf(here)[0].Mount || p.Uploads[0].Mount {
		t.Error("a folder is mounted where it cannot be, or copied where it need not be")
	}
	spec := p.Spec(builds)
	if spec.Offer != "H100" || spec.GPU != "H100" || spec.GPUCount != 2 || spec.CPU != 4.5 || spec.MemoryGB != 16 || spec.DiskGB != 100 ||
		spec.TimeoutSeconds != 9000 || string(spec.Options) != `{"app":"lab"}` || len(spec.Volumes) != 2 || spec.Volumes[1] != (sdk.Volume{Name: "sets", Path: "/data", ReadOnly: true}) {
		t.Errorf("got %+v", spec)
	}
	if p.Spec(installs).Options != nil {
		t.Error("a provider gets another's options")
	}
}

// A plain machine is the provider's own image.
func TestNoImageWhereNothingIsAsked(t *testing.T) {
	p, err := plan.Make(read(t, "{}"), clouds())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Choices {
		if image, install := p.ImageOf(c); image != nil || len(install.PythonPackages) != 0 {
			t.Errorf("%s: %+v, %+v", c.Provider, image, install)
		}
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
