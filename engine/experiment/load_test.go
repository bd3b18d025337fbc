package experiment_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/testkit"
)

func load(t *testing.T, path string, set ...string) *experiment.Experiment {
	t.Helper()
	exp, err := experiment.Load(context.Background(), path, experiment.LoadOptions{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

func parse(text string, set ...string) (*experiment.Experiment, error) {
	return experiment.Parse([]byte(text), "/lab/intro/e.yaml", experiment.LoadOptions{Set: set})
}

// mistakesOf is why an experiment is refused.
func mistakesOf(text string) error {
	_, err := parse(text)
	return err
}

func TestEveryFieldOfTheFullFile(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	got := load(t, "testdata/full.yaml")
	want := &experiment.Experiment{
		File: in("full.yaml"),
		Name: "scoped-intro",
		Sandbox: experiment.Sandbox{
			Providers: []string{"local", "modal"},
			GPU:       []string{"H100!", "A100-80GB"},
			GPUCount:  2,
			CPU:       0.5, MemoryGB: 1536, DiskGB: 100, Regions: []string{"us-east", "eu"},
			Volumes:  []experiment.Volume{{Name: "weights", Path: "/models", SizeGB: 21}, {Name: "sets", Path: "/data", SizeGB: 1, ReadOnly: true}},
			MaxPrice: 4, Budget: 12.5,
			ProviderOptions: map[string]map[string]any{"modal": {"app": "lab", "cloud": nil, "retries": 3}},
			Models: []experiment.Model{
				{Name: "./tiny-model", Source: "folder", Path: in("tiny-model"), VarName: "model"},
				{Name: "google/gemma-2-9b", Source: "hub", Revision: "main", VarName: "gemma", Hidden: true, DType: "bfloat16", Device: "cuda"},
				{Name: "shelf:tiny/other", Source: "shelf", VarName: "other", IsPEFT: true, BaseModel: "google/gemma-2-2b"},
				{Name: "./third", Source: "folder", Path: in("third"), VarName: "third", LoadAsPEFT: true},
			},
			ExecutionMode: experiment.ModeNotebook, JupyterPort: 8889, HostPorts: []int{5432}, Debug: true, DebugPort: 8443,
			Repos:          []experiment.Repo{{URL: "org/repo"}, {URL: "https://example.org/r.git", Ref: "v1", Install: "pip install -e ."}},
			PythonPackages: []string{"numpy>=1.24"},
			SystemPackages: []string{"git", "libgl1"}, PythonVersion: "3.11",
			Image:       &experiment.Image{Base: "debian:12", Commands: []string{"touch /made"}},
			Secrets:     []string{"HF_TOKEN"},
			Env:         map[string]string{"LOG_LEVEL": "debug", "WORKERS": "4", "FAST": "true", "DAY": "2026-01-01"},
			Timeout:     2 * time.Hour,
			IdleTimeout: 15 * time.Minute,
			MaxWait:     20 * time.Minute,
			LocalFiles:  []experiment.Pair{{Local: in("a.txt"), Remote: "/workspace/a.txt"}},
			LocalDirs:   []experiment.Pair{{Local: in("data"), Remote: "/workspace/data"}},
			Ports:       []int{8000},
			Isolation:   "gvisor",
			Network:     "hosts", NetworkHosts: []string{"example.org", "*.example.net"},
		},
		Serve: []experiment.Serve{{File: in("interface.py"), ExposeAs: "library", Name: "model_tools",
			Options: map[string]any{"depth": 2, "tags": []any{"a", "b"}},
			Limits: experiment.ServiceLimits{Keep: time.Hour, KeepCalls: 50, KeepSize: 2, HandleKeep: 30 * time.Minute,
				Handles: 10, HandleSize: 0.5, Queue: 100},
			Access: &experiment.Access{Functions: []string{"next_words"}, Calls: 1000, Rate: "60/min", Expires: 2 * time.Hour, Spend: 1.5,
				Arguments: map[string]map[string]any{"next_words": {"top": map[string]any{"type": "integer", "maximum": 100}}}}}},
		Workspace: experiment.Workspace{Dir: in("work"), Libraries: []string{in("helpers.py")}, Skills: []string{in("skills/one")}, SkillDirs: []string{in("skills/more")},
			Files: []string{in("notes.md")}, Dirs: []string{in("data")}, Init: "import numpy", NoPreload: true, ShowsLoading: true},
		Agent: &experiment.Agent{Provider: "command", Command: []string{"python3", "agent.py"}, Prompt: "Do it.\n",
			Isolation: "auto", Network: "open", Env: map[string]string{"TZ": "UTC"}},
		Outputs: in("results"), Runs: in("runs"),
	}
	equal(t, got, want)
}

// equal compares what is exported.
func equal(t *testing.T, got, want *experiment.Experiment) {
	t.Helper()
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range g.NumField() {
		f := g.Type().Field(i)
		if f.IsExported() && !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s:\n got %+v\nwant %+v", f.Name, g.Field(i).Interface(), w.Field(i).Interface())
		}
	}
}

func TestDefaultsAreThoseOfAnExperimentBuiltInCode(t *testing.T) {
	text := "serve: [{file: tools.py}]\nsandbox: {models: [./m]}\nagent: {command: [true_]}\n"
	file, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	built := &experiment.Experiment{
		Serve:   []experiment.Serve{{File: "tools.py"}},
		Sandbox: experiment.Sandbox{Models: []experiment.Model{{Name: "./m"}}},
		Agent:   &experiment.Agent{Command: []string{"true_"}},
	}
	if err := built.Complete("/lab/intro"); err != nil {
		t.Fatal(err)
	}
	built.File = file.File
	equal(t, file, built)
	if built.Name != "intro" || built.Sandbox.Timeout != time.Hour || built.Serve[0].Name != "tools" {
		t.Errorf("defaults: %+v", built)
	}
}

func TestCompleteReportsMistakesWithoutAFile(t *testing.T) {
	e := &experiment.Experiment{Name: "a b", Serve: []experiment.Serve{{File: "json.py"}}}
	err := e.Complete("/lab")
	var all experiment.Errors
	if !errors.As(err, &all) || len(all) != 2 {
		t.Fatalf("got %v", err)
	}
	if all[0].Line != 0 || !strings.HasPrefix(all[0].Error(), "name: `a b` is not a name") {
		t.Errorf("got %s", all[0])
	}
}

func TestNullAndEmptyMeanNothingAskedFor(t *testing.T) {
	for _, text := range []string{
		"{}", "sandbox:\nserve:\nworkspace:\nagent:\n", "name: intro",
		"sandbox: {models: , env: , gpu: , ports: [], local_files: null}\n",
	} {
		exp, err := parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if exp.Agent != nil || exp.Name != "intro" || exp.Sandbox.Timeout != time.Hour || exp.Sandbox.Isolation != "auto" {
			t.Errorf("%q: %+v", text, exp)
		}
	}
}

func TestFileProblems(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string { return testkit.WriteFile(t, filepath.Join(dir, name), text) }
	for _, test := range []struct{ path, want string }{
		{filepath.Join(dir, "none.yaml"), "there is no such file"},
		{dir, "this is a folder"},
		{write("empty.yaml", ""), "empty.yaml:1: the file is empty"},
		{write("comment.yaml", "# nothing\n"), "the file is empty"},
		{write("utf16.yaml", "\xff\xfen\x00a\x00"), "utf16.yaml:1: the file is not UTF-8 text"},
		{write("latin.yaml", "a: b\nname: caf\xe9\n"), "latin.yaml:2: the file is not UTF-8 text"},
		{write("two.yaml", "name: a\n---\nname: b\n"), "two.yaml:2: the file holds more than one YAML document"},
		{write("list.yaml", "- a\n"), "list.yaml:1: expected a mapping at the top, got a list"},
		{write("word.yaml", "hello\n"), "expected a mapping at the top, got the string `hello`"},
		{write("large.yaml", strings.Repeat("# padding\n", 200_000)), "larger than 1024 KiB"},
	} {
		_, err := experiment.Load(context.Background(), test.path, experiment.LoadOptions{})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), test.path) {
			t.Errorf("%s: got %v, want %s", test.path, err, test.want)
		}
	}
	_, err := experiment.Load(context.Background(), filepath.Join(dir, "none.yaml"), experiment.LoadOptions{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is not fs.ErrNotExist: %v", err)
	}
	for _, text := range []string{"\ufeffname: intro\n", "name: intro\r\nsandbox:\r\n  timeout: 5m\r\n"} {
		if exp := load(t, write("ok.yaml", text)); exp.Name != "intro" {
			t.Errorf("%q: %+v", text, exp)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := experiment.Load(ctx, "testdata/full.yaml", experiment.LoadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPositions(t *testing.T) {
	exp := load(t, "testdata/full.yaml", "sandbox.timeout=3h")
	for path, line := range map[string]int{"name": 2, "sandbox.models.0": 21, "sandbox.models.1.name": 22, "sandbox.models.0.name": 21, "serve.0.file": 45, "serve.0.nothing": 45,
		"sandbox.volumes.1.path": 13, "sandbox.provider_options.modal.app": 17} {
		if p := exp.Position(path); p.Line != line || p.File != "testdata/full.yaml" {
			t.Errorf("%s: %+v, want line %d", path, p, line)
		}
	}
	if p := exp.Position("sandbox.timeout"); p.Set != "sandbox.timeout" || p.Line != 0 {
		t.Errorf("an override: %+v", p)
	}
}
