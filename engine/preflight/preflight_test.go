package preflight_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// lab is a folder with everything that the good experiment needs.
type lab struct {
	t     *testing.T
	dir   string
	facts preflight.Facts
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, dir: t.TempDir()}
	l.write("interface.py", "@expose\ndef f(): ...\n")
	l.write("helpers.py", "")
	l.write("agent.py", "")
	l.write("pkg/__init__.py", "")
	l.write("model/config.json", "{}")
	l.write("data/x.txt", "x")
	l.facts = preflight.Facts{
		GPUProviders: []string{"modal"},
		Providers: []sdk.ProviderInfo{
			{Name: "local", Features: []sdk.Feature{sdk.FeatureHostMounts}, Isolations: []sdk.Isolation{
				{Name: "gvisor", Reason: "runsc is not installed"}, {Name: "bubblewrap", Usable: true}, {Name: "none", Usable: true}}},
			{Name: "cloud", GPUs: []string{"A100-80GB", "H100"}, Features: []sdk.Feature{sdk.FeatureBuild, sdk.FeatureSelfEnd}},
		},
		Sources: []string{"folder", "shelf"}, ExposeModes: []string{"prompt", "library", "mcp"}, PluginDirs: []string{"/plugins"},
		AgentIsolations: []sdk.Isolation{{Name: "bubblewrap", Usable: true}, {Name: "none", Usable: true}},
		Python: &preflight.Python{Path: "/usr/bin/python3", Markers: map[string]string{"python_version": "3.11"},
			Distributions: map[string]string{"numpy": "1.24.2", "torch": "2.1.0+cpu"}},
		AgentPath: "/usr/bin:/bin", AgentSees: []string{"/usr", "/bin", "/etc"},
		PortFree: func(port int) error {
			switch port {
			case 81:
				return fmt.Errorf("listen: %w", syscall.EADDRINUSE)
			case 82:
				return fmt.Errorf("listen: %w", syscall.EACCES)
			}
			return nil
		},
	}
	l.env(nil)
	return l
}

// TestAllMistakesAtOnce: what a file has of the wrong shape does not hide what it names.
func TestAllMistakesAtOnce(t *testing.T) {
	l := newLab(t)
	l.write("e.yaml", `sandbox:
  gpu_cont: 2
  timeout: soon
  models: [./no-model]
  local_files: [3, [./none, /workspace/x]]
  gpu: A1OO
  provider: modla
serve:
  - {file: none.py, name: 7a, expose_as: hologram}
workspace: {files: [nothing.txt]}
agent: {command: [no-such-program], isolation: []}
`)
	exp, err := experiment.Load(t.Context(), filepath.Join(l.dir, "e.yaml"), experiment.LoadOptions{Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := preflight.Check(t.Context(), exp, l.facts)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(r.Err())
	for _, want := range []string{":2: sandbox: unknown key `gpu_cont`", ":3: sandbox.timeout: ", ":4: sandbox.models.0: there is no", ":5: sandbox.local_files.0: ",
		":6: sandbox.gpu: there is no GPU `A1OO`", ":7: sandbox.provider: there is no provider `modla`", ":9: serve.0.name: ", ":9: serve.0.file: there is no",
		":9: serve.0.expose_as: there is no expose mode", ":10: workspace.files.0: there is no", ":11: agent.command.0: there is no program", ":11: agent.isolation: "} {
		if strings.Count(text, want) != 1 {
			t.Errorf("not once %q", want)
		}
	}
	if strings.Contains(text, "./none") || strings.Count(text, "\n") != 11 {
		t.Errorf("got\n%s", text)
	}
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) env(variables map[string]string) {
	l.t.Helper()
	env, err := preflight.ReadEnv(l.dir, func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
	if err != nil {
		l.t.Fatal(err)
	}
	l.facts.Env = env
}

func (l *lab) check(text string) preflight.Report {
	l.t.Helper()
	exp, err := experiment.Parse([]byte(text), filepath.Join(l.dir, "e.yaml"), experiment.LoadOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	report, err := preflight.Check(context.Background(), exp, l.facts)
	if err != nil {
		l.t.Fatal(err)
	}
	return report
}

const good = `sandbox:
  models: [./model, shelf:tiny]
  python_packages: [NumPy>=1.24, "torch==2.1.0", "tomli; python_version < '3.11'"]
  secrets: [TOKEN]
  local_files: [[./agent.py, /workspace/agent.py]]
  local_dirs: [[./data, /workspace/data]]
  ports: [80]
serve: [{file: interface.py, name: tools}]
workspace: {libraries: [helpers.py, pkg], files: [agent.py, data]}
agent: {command: [python3, agent.py]}
`

func TestGood(t *testing.T) {
	l := newLab(t)
	l.write(".env", "TOKEN=from-file\nOTHER='x y'\n")
	l.env(nil)
	r := l.check(good)
	if err := r.Err(); err != nil || len(r.Findings) != 0 {
		t.Fatalf("found %v", r.Findings)
	}
	if r.Provider.Name != "local" || r.Isolation != "bubblewrap" || r.AgentIsolation != "bubblewrap" || r.Secrets["TOKEN"] != ".env" {
		t.Errorf("report %+v", r)
	}
	if r := l.check("sandbox: {network: none, ports: [81]}"); r.Err() != nil { // another one leads to it
		t.Errorf("found %v", r.Findings)
	}
	l.env(map[string]string{"TOKEN": "from-environment"})
	if r = l.check(good); r.Secrets["TOKEN"] != "environment" {
		t.Errorf("the environment does not win: %v", r.Secrets)
	}
	if value, _, _ := l.facts.Env.Lookup("TOKEN"); value != "from-environment" {
		t.Errorf("got %q", value)
	}
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "from-") {
		t.Errorf("the report holds a secret: %s", text)
	}
}

// refuses checks that an experiment of one line has one mistake. DIR stands for the folder of the lab.
func (l *lab) refuses(text, want string) {
	l.t.Helper()
	inDir := strings.NewReplacer("DIR", l.dir)
	err := l.check(inDir.Replace(text)).Err()
	want = inDir.Replace("DIR/e.yaml:1: " + want)
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		l.t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFindings(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no provider", "sandbox: {provider: nowhere}", "sandbox.provider: there is no provider `nowhere`; known are cloud, local; plugins are looked for in /plugins"},
		{"no gpu here", "sandbox: {provider: local, gpu: A100}", "sandbox.gpu: provider `local` has no NVIDIA GPU; leave gpu empty (null) to run on the CPU"},
		{"no gpu anywhere", "sandbox: {gpu: [A100, H100]}", "sandbox.gpu: this computer has no A100 or H100, and the provider `modal` is not installed; leave gpu empty"},
		{"other gpu", "sandbox: {provider: cloud, gpu: T4}", "sandbox.gpu: provider `cloud` has no T4; it has A100-80GB, H100"},
		{"mistaken gpu", "sandbox: {gpu: A1000}", "sandbox.gpu: there is no GPU `A1000`; did you mean `A100`?"},
		{"mistaken gpu among others", "sandbox: {provider: cloud, gpu: [H100, A1OO]}", "sandbox.gpu.1: there is no GPU `A1OO`; did you mean `A100`?"},
		{"isolation of a cloud", "sandbox: {provider: cloud, isolation: none}", "sandbox.isolation: provider `cloud` has its own isolation; remove the key"},
		{"source", "sandbox: {models: ['web:x']}", "sandbox.models.0: model source `web` is not available; known are folder, shelf; plugins"},
		{"hub", "sandbox: {models: [google/gemma-2-9b]}", "sandbox.models.0: model source `hub` is not available; use a folder, as in ./gemma-2-9b"},
		{"folder without ./", "sandbox: {models: [model]}", "sandbox.models.0: model source `hub` is not available; did you mean the folder `./model`?"},
		{"no folder", "sandbox: {models: [./none]}", "sandbox.models.0: there is no `DIR/none`; relative paths are taken from the folder of the experiment file"},
		{"model is a file", "sandbox: {models: [./agent.py]}", "sandbox.models.0: `DIR/agent.py` is not a folder"},
		{"empty model", "sandbox: {models: [./empty]}", "sandbox.models.0: `DIR/empty` is empty; put its files there"},
		{"secret", "sandbox: {secrets: [NONE]}", "sandbox.secrets.0: the secret `NONE` is not set; set it in the environment or in DIR/.env"},
		{"empty secret", "sandbox: {secrets: [EMPTY]}", "sandbox.secrets.0: the secret `EMPTY` is not set"},
		{"short secret", "sandbox: {secrets: [LONG, SHORT]}", "sandbox.secrets.1: the secret `SHORT` is shorter than 4 bytes and could not be kept out of outputs; give it a longer value"},
		{"no agent", "agent: {command: [pythonn, agent.py]}", "agent.command.0: there is no program `pythonn`; the agent's PATH is /usr/bin:/bin"},
		{"agent in one word", "agent: {command: [python3 agent.py]}", "agent.command.0: there is no program `python3 agent.py`; each word is an item of its own: [python3, agent.py]"},
		{"no agent at a path", "agent: {command: [/opt/no/such-agent]}", "agent.command.0: there is no program `/opt/no/such-agent` on this computer; the agent runs here, not on the sandbox's machine"},
		{"agent that cannot be run", "agent: {command: [DIR/agent.py]}", "agent.command.0: `DIR/agent.py` is not an executable file; make it executable"},
		{"agent that is not seen", "agent: {command: [DIR/run]}", "agent.command.0: the agent does not see `DIR/run`: of this computer it sees the system and its Python; list the program under workspace.files"},
		{"no agent in the workspace", "agent: {command: [./bin/run]}", "agent.command.0: there is no program `./bin/run` in the workspace; list it under workspace.files"},
		{"no agent inside", "agent: {command: [/workspace/x/run]}", "agent.command.0: there is no program `/workspace/x/run` in the workspace"},
		{"nonsense package", "sandbox: {python_packages: ['>=1']}", "sandbox.python_packages.0: `>=1` is not a package as pip writes them: it does not begin with a name"},
		{"jupyter_port", "sandbox: {network: none, execution_mode: notebook, jupyter_port: 81}", "sandbox.jupyter_port: port 81 is not free on this computer: listen: address already in use"},
		{"port of root", "sandbox: {network: none, ports: [81, 82]}", "sandbox.ports.1: port 82 is not free on this computer: listen: permission denied"},
		{"port", "sandbox: {network: host, ports: [80, 81]}", "sandbox.ports.1: port 81 is not free on this computer: listen: address already in use"},
		{"missing file", "sandbox: {local_files: [[./none, /workspace/x]]}", "sandbox.local_files.0.0: there is no `DIR/none`"},
		{"folder as file", "sandbox: {local_files: [[./data, /workspace/x]]}", "sandbox.local_files.0.0: `DIR/data` is not a file"},
		{"no isolation", "sandbox: {isolation: none, local_files: [[./agent.py, /root/agent.py]]}", "sandbox.local_files.0.1: without isolation `/root/agent.py` would be written on this computer itself; use a place under /workspace"},
		{"same place", "sandbox: {local_files: [[./agent.py, /w]], local_dirs: [{local: ./data, remote: /w}]}", "sandbox.local_dirs.0.remote: `/w` is the place of sandbox.local_files.0 as well; choose another place"},
		{"under a file", "sandbox: {local_files: [[./agent.py, /w/a], [./helpers.py, /w/a/b]]}", "sandbox.local_files.1.1: `/w/a/b` is under `/w/a`, which is a file; choose another place"},
		{"misspelt mode", "serve: [{file: interface.py, expose_as: libary}]", "serve.0.expose_as: there is no expose mode `libary`; did you mean library? known are library, mcp"},
		{"misspelt provider", "sandbox: {provider: locl}", "sandbox.provider: there is no provider `locl`; did you mean local? known are cloud, local"},
		{"expose mode", "serve: [{file: interface.py, expose_as: hologram}]", "serve.0.expose_as: there is no expose mode `hologram`; known are library, mcp, prompt; plugins are looked for in /plugins"},
		{"nothing exposed", "serve: [{file: plain.py}]", "serve.0.file: `DIR/plain.py` exposes nothing; put @expose before each function that the agent may call"},
		{"no interface", "serve: [{file: none.py}]", "serve.0.file: there is no `DIR/none.py`"},
		{"binary interface", "serve: [{file: binary.py}]", "serve.0.file: `DIR/binary.py` is not UTF-8 text; save it as UTF-8"},
		{"no library", "workspace: {libraries: [none.py]}", "workspace.libraries.0: there is no `DIR/none.py`"},
		{"no package", "workspace: {libraries: [data]}", "workspace.libraries.0: `DIR/data` is not a package; add an __init__.py, or list it under workspace.files"},
		{"no module", "workspace: {libraries: [my-tools.py]}", "workspace.libraries.0: `my-tools` cannot be imported: it is not a Python identifier"},
		{"clash", "{serve: [{file: interface.py, name: helpers}], workspace: {libraries: [helpers.py]}}", "workspace.libraries.0: `helpers.py` has the name of serve.0; rename one of them"},
		{"twice", "workspace: {libraries: [helpers.py], files: [helpers.py]}", "workspace.files.0: `helpers.py` has the name of workspace.libraries.0"},
		{"too much to see", "workspace: {dir: .}", "workspace.dir: `DIR` holds the experiment file, which the agent would see; name a folder of its own, such as ./workspace"},
		{"outputs to see", "{workspace: {dir: ./w}, outputs: ./w/outputs}", "workspace.dir: `DIR/w` holds the collected outputs, which the agent would see"},
		{"outputs are a file", "outputs: ./agent.py", "outputs: `DIR/agent.py` is not a folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			l.write("binary.py", "x\xff\x00")
			l.write("my-tools.py", "")
			l.write("plain.py", "import math\ndef f(): ...\n")
			l.write("run", "#!/bin/sh\n")
			l.write("empty/x", "")
			if err := os.Remove(filepath.Join(l.dir, "empty", "x")); err != nil {
				t.Fatal(err)
			}
			l.env(map[string]string{"EMPTY": "", "LONG": "abcd", "SHORT": "abc"})
			if err := os.Chmod(filepath.Join(l.dir, "run"), 0o700); err != nil {
				t.Fatal(err)
			}
			l.refuses(c.text, c.want)
		})
	}
}

func TestAllFindingsAtOnceInTheOrderOfTheFile(t *testing.T) {
	l := newLab(t)
	r := l.check("sandbox:\n  models: [./none]\n  secrets: [NONE]\nserve:\n  - {file: none.py, expose_as: nothing}\nworkspace: {libraries: [gone.py]}\n")
	var all experiment.Errors
	if !errors.As(r.Err(), &all) || len(all) != 5 {
		t.Fatalf("got %v", r.Err())
	}
	for i, line := range []int{2, 3, 5, 5, 6} {
		if all[i].Line != line {
			t.Errorf("finding %d is at line %d, want %d: %v", i, all[i].Line, line, all[i])
		}
	}
}

func TestWarnings(t *testing.T) {
	l := newLab(t)
	l.write("silent.py", "from helpers import *\n")
	l.facts.AgentIsolations = []sdk.Isolation{{Name: "bubblewrap", Reason: "bwrap is not installed"}, {Name: "none", Usable: true}}
	r := l.check("serve: [{file: silent.py}]\nworkspace: {libraries: [helpers.py]}\nagent: {command: [/bin/sh, agent.py, none.py, data], network: open}\n")
	if r.Err() != nil || len(r.Warnings()) != 3 || r.AgentIsolation != "none" {
		t.Fatalf("got %+v", r)
	}
	for i, want := range []string{"has no @expose", "the agent will not be kept apart from this computer; bubblewrap: bwrap is not installed", "agent.command.1: `agent.py` is beside the experiment, where the agent does not see it; list it under workspace.files"} {
		if got := r.Warnings()[i].Error.Error(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// What this computer's Python lacks is installed; what is there is not.
func TestPackagesHere(t *testing.T) {
	l := newLab(t)
	r := l.check(`sandbox: {python_packages: [numpy, pandas, 'numpy>=2', 'torch[x]', 'NumPy @ https://example.org/n.zip', "tomli; python_version < '3.11'"]}`)
	if r.Err() != nil || strings.Join(r.Present, " ") != "numpy tomli; python_version < '3.11'" || strings.Join(r.Missing, " ") != "pandas numpy>=2 torch[x] NumPy @ https://example.org/n.zip" {
		t.Errorf("there: %v, missing: %v, %v", r.Present, r.Missing, r.Err())
	}
	l.facts.Python.NoPip = true
	if err := l.check("sandbox: {python_packages: [pandas]}").Err(); err == nil || !strings.Contains(err.Error(), "sandbox.python_packages: /usr/bin/python3 has neither pip nor ensurepip") {
		t.Error(err)
	}
	if err := l.check("sandbox: {python_packages: [numpy]}").Err(); err != nil {
		t.Error(err)
	}
}

func TestPythonVersion(t *testing.T) {
	l := newLab(t)
	l.facts.Python.Markers["python_full_version"] = "3.11.2"
	l.facts.Pythons = []preflight.Python{{Path: "/opt/bin/python3.9"}, {Path: "/opt/bin/python3.12", Markers: map[string]string{"python_full_version": "3.12.4"}, Distributions: map[string]string{"numpy": "2.0"}}}
	for asked, want := range map[string]string{"3.11": "", "3.11.2": "", "3.12": "/opt/bin/python3.12", "3.12.4": "/opt/bin/python3.12"} {
		if r := l.check("sandbox: {python_version: '" + asked + "', python_packages: [numpy]}"); r.Err() != nil || r.Python != want {
			t.Errorf("%s: %s, %v", asked, r.Python, r.Err())
		}
	}
	if r := l.check("sandbox: {python_version: '3.12', python_packages: ['numpy>=2']}"); len(r.Missing) != 0 {
		t.Errorf("the packages are looked for in another Python: %v", r.Missing)
	}
	testkit.WantErrors(t, func(asked string) error { return l.check("sandbox: {python_version: '" + asked + "'}").Err() }, map[string]string{
		"3.13": "sandbox.python_version: this computer has no Python 3.13; it has 3.11.2 (/usr/bin/python3), 3.9 (/opt/bin/python3.9), 3.12.4 (/opt/bin/python3.12); install one (uv python install 3.13), or set image.base: python:3.13",
		"3.7":  "sandbox.python_version: Python 3.7 is too old: Seer needs 3.8 or newer",
		"3.1":  "Python 3.1 is too old",
	})
}

// TestRootHasNoNestedSandboxes: with bubblewrap, for the sandbox and the agent.
func TestRootHasNoNestedSandboxes(t *testing.T) {
	l := newLab(t)
	works := []sdk.Isolation{{Name: "bubblewrap", Usable: true}, {Name: "gvisor", Usable: true}}
	l.facts.Providers[0].Isolations, l.facts.AgentIsolations = works, works
	for _, root := range []bool{true, false} {
		l.facts.Root = root
		for text, want := range map[string]string{
			"sandbox: {nested_sandbox: true}":                                   "sandbox.nested_sandbox: you are root",
			"agent: {command: [sh], nested_sandbox: true}":                      "agent.nested_sandbox: you are root",
			"agent: {command: [sh], nested_sandbox: true, isolation: gvisor}":   "",
			"sandbox: {nested_sandbox: true, isolation: gvisor, network: none}": "",
		} {
			err := l.check(text).Err()
			if refused := err != nil && strings.Contains(err.Error(), "you are root"); refused != (root && want != "") {
				t.Errorf("%s, root %v: %v", text, root, err)
			}
		}
	}
}

// Nothing weaker than what was asked for is ever chosen.
func TestIsolationIsNeverWeakerThanAsked(t *testing.T) {
	l := newLab(t)
	broken := []sdk.Isolation{{Name: "bubblewrap", Reason: "no user namespaces"}, {Name: "none", Usable: true}}
	l.facts.Providers[0].Isolations, l.facts.AgentIsolations = broken, broken
	for text, want := range map[string]string{
		"sandbox: {isolation: bubblewrap}":                            "sandbox.isolation: `bubblewrap` does not work here: no user namespaces",
		"sandbox: {network: none}":                                    "sandbox.network: the sandbox cannot be kept off the network without isolation",
		"agent: {command: [x], isolation: bubblewrap, network: open}": "agent.isolation: `bubblewrap` does not work here: no user namespaces",
		"agent: {command: [x]}":                                       "agent.network: the agent cannot be kept off the network without isolation",
	} {
		r := l.check(text)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	l.facts.Providers[0].Isolations = broken[:1]
	if err := l.check("{}").Err(); err == nil || !strings.Contains(err.Error(), "no isolation works here; bubblewrap: no user namespaces") {
		t.Errorf("got %v", err)
	}
}

func TestACloudIsTakenAtItsWord(t *testing.T) {
	l := newLab(t)
	r := l.check("sandbox: {provider: cloud, gpu: [T4, h100], python_packages: [anything], ports: [81]}")
	if r.Err() != nil || r.GPU != "H100" || r.Isolation != "" {
		t.Errorf("got %+v, %v", r, r.Err())
	}
}

func TestBrokenDotEnvDoesNotLeak(t *testing.T) {
	l := newLab(t)
	l.write(".env", "TOKEN='secret-value\nnonsense here\n")
	_, err := preflight.ReadEnv(l.dir, nil)
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), ".env") {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := preflight.Check(ctx, &experiment.Experiment{}, preflight.Facts{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestProbePython(t *testing.T) {
	p, err := preflight.ProbePython(context.Background(), "python3")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(p.Markers["python_version"], "3.") || p.Markers["implementation_name"] == "" {
		t.Errorf("got %+v", p.Markers)
	}
	if _, err := preflight.ProbePython(context.Background(), filepath.Join(t.TempDir(), "python3")); err == nil || !strings.Contains(err.Error(), "does not start") {
		t.Errorf("got %v", err)
	}
	if _, err := preflight.ProbePython(context.Background(), "true"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("got %v", err)
	}
}

// Models that nothing could load are told before packages are installed for a session.
func TestLoaders(t *testing.T) {
	const model = "execution_mode: notebook, models: [{name: ./model}]"
	sure, unsure := "error", "warning"
	for text, want := range map[string]string{
		"sandbox: {" + model + ", python_packages: [torch, 'Scikit_Learn>=1']}": sure,
		"sandbox: {" + model + "}":                                                           sure,
		"sandbox: {execution_mode: cli, models: [{name: ./model}]}":                          sure,
		"sandbox: {" + model + ", python_packages: [peft]}":                                  unsure,
		"sandbox: {" + model + ", python_packages: ['torch[all]']}":                          unsure,
		"sandbox: {" + model + ", python_packages: [torch, 'Transformers>=4']}":              "",
		"sandbox: {" + model + ", provider: cloud, gpu: H100}":                               "",
		"sandbox: {" + model + ", image: {base: 'python:3.12'}}":                             "",
		"sandbox: {" + model + ", repos: [{url: 'https://h/x', install: pip install -e .}]}": "",
		"sandbox: {" + model + "}\nworkspace: {preload_models: false}":                       "",
		"sandbox: {models: [{name: ./model}]}":                                               "",
		"sandbox: {execution_mode: notebook}":                                                "",
	} {
		got := ""
		for _, f := range newLab(t).check(text).Findings {
			if strings.Contains(f.Message, "`transformers`") {
				got += string(f.Severity)
			}
		}
		if got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
	l := newLab(t)
	l.facts.Python.Distributions["transformers"] = "4.47"
	for _, f := range l.check("sandbox: {" + model + "}").Findings {
		t.Errorf("it is installed: %v", f)
	}
}
