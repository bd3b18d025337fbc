package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

const hubExperiment = `name: hub
sandbox:
  models: [org/open, {name: org/gated, revision: v1}]
` + agentWithTools

// agentWithTools is the part of an experiment that has agent.py call interface.py.
const agentWithTools = `serve:
  - {file: interface.py, expose_as: library, name: tools}
agent:
  command: [python3, agent.py]
workspace:
  files: [agent.py]
`

const hubInterface = `import os

@expose
def contents(name: str) -> dict[str, str]:
    "The files of a model."
    found = {}
    root = get_model_path(name)
    for folder, _, names in os.walk(root):
        for one in names:
            path = os.path.join(folder, one)
            with open(path) as f:
                found[os.path.relpath(path, root)] = f.read()[:20]
    return found

@expose
def variables() -> list[str]:
    return sorted(n for n in os.environ if n.startswith(("MODEL_", "HF_")))
`

const hubAgent = `import tools
print(sorted(tools.contents("org/open").items()))
print(sorted(tools.contents("org/gated").items()))
print(tools.variables())
`

// weights are large enough that a download can be killed.
const weights = 64 << 20

func newHub(t *testing.T) *fakehub.Hub {
	t.Helper()
	text := func(s string) fakehub.File { return fakehub.File{Content: fakehub.Text(s)} }
	files := map[string]fakehub.File{
		"config.json": text("{}"), "sub/vocab.txt": text("a b"), "pytorch_model.bin": text("again"),
		"model.safetensors": {Content: fakehub.Text("the weights"), Kind: fakehub.LFS},
	}
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{
		{ID: "org/open", Commits: []fakehub.Commit{{Files: files}}, Info: map[string]any{"cardData": map[string]any{"license": "mit"}}},
		{ID: "org/closed", Gated: "manual", Commits: []fakehub.Commit{{Files: files}}}, // nobody has it in a cache
		{ID: "org/gated", Gated: "manual", Readers: []string{"user"}, Commits: []fakehub.Commit{{Files: files}}, Tags: map[string]int{"v1": 0}},
		{ID: "org/set", Type: fakehub.Dataset, Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"train/data.json": text("[]")}}}},
		{ID: "org/big", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"config.json": text("{}"), "model.safetensors": {Content: fakehub.Random(weights, 1), Kind: fakehub.LFS},
		}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// hubProgram is the program with a hub and caches of its own.
func hubProgram(t *testing.T, h *fakehub.Hub) *program {
	t.Helper()
	p := newProgram(t)
	p.ownCache()
	p.env = append(p.env, "HF_HOME="+t.TempDir())
	for name, value := range h.Env() {
		p.env = append(p.env, name+"="+value)
	}
	p.write("exp.yaml", hubExperiment)
	p.write("interface.py", hubInterface)
	p.write("agent.py", hubAgent)
	return p
}

func TestHubModels(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := hubProgram(t, h)
	out, said := p.runs("run", "--yes", "exp.yaml")
	want := "[('config.json', '{}'), ('model.safetensors', 'the weights'), ('sub/vocab.txt', 'a b')]"
	if strings.Count(out, want) != 2 || !strings.Contains(out, "'MODEL_ORG_OPEN_PATH'") || strings.Contains(out, "HF_TOKEN") {
		t.Errorf("the agent says:\n%s", out)
	}
	if !strings.Contains(said, "org/open: 1 file (5 B) in other formats left out") {
		t.Errorf("the user is told:\n%s", said)
	}
	for _, r := range h.Requests() {
		if r.HubToken && r.Host != fakehub.API {
			t.Errorf("the token went to %s: %+v", r.Host, r)
		}
	}
	h.ForgetRequests()
	p.runs("run", "--yes", "exp.yaml")
	for _, r := range h.Requests() {
		if slices.Contains([]fakehub.Call{fakehub.Resolve, fakehub.ResolveCache, fakehub.Blob, fakehub.Xorb}, r.Call) {
			t.Errorf("the second run asks again: %+v", r)
		}
	}
}

const dataExperiment = `name: data
sandbox:
  models: [{name: org/open, include: [MODELFILES]}]
  datasets: [org/set, ./data]
` + agentWithTools

const dataInterface = `import os

def names(root):
    return sorted(os.path.relpath(os.path.join(at, name), root) for at, _, all in os.walk(root) for name in all)

@expose
def model() -> list[str]:
    return names(get_model_path("org/open"))

@expose
def data() -> list[list[str]]:
    assert os.environ["DATASET_ORG_SET_PATH"] == get_dataset_path("org/set") == get_dataset_path("set")
    try:
        open(get_dataset_path("org/set") + "/new", "w")
    except OSError:
        return [names(get_dataset_path(n)) for n in ("org/set", "./data")]
    return []
`

// Datasets are fetched, confirmed, mounted and shown as models are. Sandboxes with different
// patterns run side by side, and each has its own files.
func TestHubDatasetsAndPatterns(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := hubProgram(t, h)
	p.write("interface.py", dataInterface)
	p.write("agent.py", "import tools\nprint(tools.model(), tools.data())\n")
	if err := os.Mkdir(filepath.Join(p.dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("data/table.csv", "a,b\n")
	p.write("exp.yaml", strings.Replace(dataExperiment, "MODELFILES", `"*.json"`, 1))
	p.write("two.yaml", strings.Replace(dataExperiment, "MODELFILES", `"*.bin", sub/`, 1))
	out, err := p.command("run", "exp.yaml").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "fetch the dataset org/set with HF_TOKEN of environment") {
		t.Errorf("%v\n%s", err, out)
	}
	plan := p.run("plan", "exp.yaml")
	if want := "org/set at /datasets/org--set ($DATASET_ORG_SET_PATH), read-only"; !strings.Contains(plan, want) {
		t.Errorf("the plan lacks %s:\n%s", want, plan)
	}
	p.runs("up", "--yes", "--name", "one", "exp.yaml")
	for file, want := range map[string]string{"exp.yaml": "['config.json'] ", "two.yaml": "['pytorch_model.bin', 'sub/vocab.txt'] "} {
		out, _ := p.runs("run", "--yes", file)
		if want += "[['train/data.json'], ['table.csv']]"; !strings.Contains(out, want) {
			t.Errorf("the agent says\n%snot %s", out, want)
		}
	}
	if list := p.run("exec", "one", "--", "ls", "/models/org--open"); strings.TrimSpace(list) != "config.json" {
		t.Errorf("another start has changed the files of a sandbox: %s", list)
	}
	commit := h.Commit("datasets/org/set", "main")
	if shown := p.run("show", "one", "--json"); !strings.Contains(shown, `"datasets":[{"name":"org/set"`) || !strings.Contains(shown, commit) {
		t.Errorf("show lacks the dataset:\n%s", shown)
	}
	p.write("exp.yaml", "sandbox:\n  datasets:\n    - org/set\n    - org/none\n")
	out, err = p.command("up", "--yes", "exp.yaml").CombinedOutput()
	if want := "exp.yaml:4: sandbox.datasets.1: dataset org/none: "; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, without %s:\n%s", err, want, out)
	}
}

// Clients of the Hub in the sandbox find the models by name, at each revision, but no hidden
// one, and nothing of a sandbox that a snapshot was taken of. Without a way to the Hub they do
// not look for it. Only the token that the experiment lists as a secret is there.
func TestHubCacheInSandbox(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := hubProgram(t, h)
	home := t.TempDir()
	p.env = append(p.env, "HF_HOME="+home)
	if err := os.WriteFile(filepath.Join(home, "token"), []byte(h.Token()), 0o600); err != nil {
		t.Fatal(err)
	}
	cached := func(sandbox string) string {
		t.Helper()
		return p.run("exec", sandbox, "--", "sh", "-c",
			`env | grep hf_; ls '`+home+`' 2>&1; cat '`+home+`/token' 2>/dev/null; echo "offline: $HF_HUB_OFFLINE"; cd ~/.cache/huggingface/hub 2>/dev/null && grep -r . m*/refs d*/refs; cat m*/snapshots/*/config.json 2>/dev/null; true`)
	}
	commit := h.Commit("org/open", "main")
	p.write("exp.yaml", "sandbox:\n  network: none\n  models: [org/open, {name: org/gated, revision: v1}, {name: org/big, hidden: true, include: [\"*.json\"]}]\n  datasets: [org/set]\n")
	p.runs("up", "--yes", "--name", "one", "exp.yaml")
	got := cached("one")
	for _, want := range []string{
		"offline: 1\n", "models--org--open/refs/main:" + commit, "models--org--gated/refs/v1:", "models--org--gated/refs/main:",
		"datasets--org--set/refs/main:" + h.Commit("datasets/org/set", "main"), "{}{}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the sandbox lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "org--big") {
		t.Errorf("a hidden model is found:\n%s", got)
	}
	if strings.Contains(got, h.Token()) || strings.Contains(got, "hub\n") || !strings.Contains(got, "No such file") {
		t.Errorf("the token or the cache of the user is found:\n%s", got)
	}
	p.runs("snapshot", "one", "saved")
	p.write("two.yaml", "sandbox:\n  network: [huggingface.co]\n  secrets: [HF_TOKEN]\n  models: [{name: org/open, hidden: true, revision: main}, org/gated]\n")
	p.runs("up", "--yes", "--name", "two", "--snapshot", "saved", "two.yaml")
	got = cached("two")
	if strings.Contains(got, "org--open") || strings.Contains(got, "refs/v1") || strings.Contains(got, "offline: 1") || !strings.Contains(got, "models--org--gated/refs/main:") {
		t.Errorf("after a restore:\n%s", got)
	}
	if !strings.Contains(got, "HF_TOKEN=[secret HF_TOKEN]\n") {
		t.Errorf("the secret is missing:\n%s", got)
	}
	p.write("three.yaml", "sandbox:\n  network: none\n  env: {HF_HUB_OFFLINE: \"0\", HF_HOME: /workspace/hf}\n  models: [org/open]\n")
	p.runs("up", "--yes", "--name", "three", "three.yaml")
	if got = cached("three"); !strings.Contains(got, "offline: 0") || strings.Contains(got, commit) {
		t.Errorf("the experiment has set the variables:\n%s", got)
	}
}

// runs is run, with what is said on stderr.
func (p *program) runs(args ...string) (out, said string) {
	p.t.Helper()
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("seer %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// A stranger's experiment gets no model with the user's token before the user has agreed.
func TestHubTokenIsConfirmed(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := hubProgram(t, h)
	out, err := p.command("run", "exp.yaml").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 15 || !strings.Contains(string(out), "fetch the model org/gated with HF_TOKEN of environment") {
		t.Errorf("%v\n%s", err, out)
	}
	if n := h.Count(fakehub.API).Requests; n != 0 {
		t.Errorf("the Hub was asked %d times", n)
	}
	p.env = slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "HF_TOKEN=") })
	p.write("exp.yaml", strings.Replace(hubExperiment, ", {name: org/gated, revision: v1}", "", 1))
	p.write("agent.py", "print('ok')\n")
	if out, _ := p.runs("run", "exp.yaml"); !strings.Contains(out, "ok") {
		t.Errorf("without a token:\n%s", out)
	}
}

// A model that cannot be had ends the start before anything is made, with the reason and the
// line of the experiment.
func TestHubRefuses(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := hubProgram(t, h)
	p.env = slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "HF_TOKEN=") })
	for name, want := range map[string][]string{
		"org/closed": {"exp.yaml:3", "org/closed is gated", h.URL(fakehub.API) + "/org/closed"},
		"org/none":   {"exp.yaml:3", "org/none does not exist on the Hub, or is private"},
	} {
		p.write("exp.yaml", "name: hub\nsandbox:\n  models: ["+name+"]\n")
		out, err := p.command("up", "--yes", "exp.yaml").CombinedOutput()
		for _, words := range want {
			if err == nil || !strings.Contains(string(out), words) {
				t.Errorf("%s: %v, without %q:\n%s", name, err, words, out)
			}
		}
		if list := p.run("ls", "--json"); strings.TrimSpace(list) != "[]" {
			t.Errorf("%s: left behind: %s", name, list)
		}
	}
}

// A program that is killed while it downloads goes on where it was.
func TestHubKilled(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	p := hubProgram(t, h)
	p.write("exp.yaml", "name: hub\nsandbox:\n  models: [org/big]\n")
	for range 3 {
		before := h.Count(fakehub.CDN).Bytes
		cmd := p.command("up", "--yes", "--name", "big", "exp.yaml")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); h.Count(fakehub.CDN).Bytes < before+weights/8 && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // the hub is asked; nothing depends on how long
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	p.runs("up", "--yes", "--name", "big2", "exp.yaml")
	if got := p.sum("big2"); got != hubSum(t, h) {
		t.Errorf("the model has the sum %s", got)
	}
}

func (p *program) sum(sandbox string) string {
	p.t.Helper()
	word, _, _ := strings.Cut(p.run("exec", sandbox, "--", "sh", "-c", "sha256sum /models/*/model.safetensors"), " ")
	return word
}

func hubSum(t *testing.T, h *fakehub.Hub) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model")
	out, err := exec.Command("curl", "-sSfL", "-o", path, h.URL(fakehub.API)+"/org/big/resolve/main/model.safetensors").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := exec.Command("sha256sum", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	word, _, _ := strings.Cut(string(text), " ")
	return word
}

// planOf is what seer plan prints.
func planOf(p *program, args ...string) (string, error) {
	out, err := p.command(append([]string{"plan"}, args...)...).CombinedOutput()
	return string(out), err
}

// seer plan looks at models without their weights: once for a commit.
func TestPlanModels(t *testing.T) {
	t.Parallel()
	header := `{"w":{"dtype":"BF16","shape":[1000],"data_offsets":[0,2000]}}`
	weights := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + strings.Repeat("w", 2000)
	text := func(s string) fakehub.File { return fakehub.File{Content: fakehub.Text(s)} }
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{
		{ID: "org/base", Gated: "manual", Readers: []string{"user"}, Info: map[string]any{"cardData": map[string]any{"license": "gemma"}}, Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"config.json":       text(`{"model_type": "llama", "torch_dtype": "bfloat16", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64, "max_position_embeddings": 100}`),
			"model.safetensors": {Content: fakehub.Text(weights), Kind: fakehub.LFS},
		}}}},
		{ID: "org/adapter", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"adapter_config.json":       text(`{"base_model_name_or_path": "org/another"}`),
			"adapter_model.safetensors": {Content: fakehub.Text(weights), Kind: fakehub.LFS},
		}}}},
		{ID: "org/closed", Gated: "manual", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"config.json": text("{}")}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	p := hubProgram(t, h)
	p.runs("models", "pull", "org/adapter") // prepares the plugin, however busy the computer is
	p.write("exp.yaml", "name: plan\nsandbox:\n  execution_mode: cli\n  python_packages: [torch, transformers, peft]\n  models:\n    - {name: org/adapter, is_peft: true, base_model: org/base}\n")
	p.write("interface.py", hubInterface)
	said, err := planOf(p, "exp.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"license gemma, gated (manual)", "llama, bfloat16, 2.0 kB on the GPU, and 25.6 kB for a context of 100 tokens",
		"exp.yaml:6: sandbox.models.0", "the adapter org/adapter was trained on org/another, and base_model is org/base", "the model org/base has no tokenizer",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in:\n%s", want, said)
		}
	}
	h.ForgetRequests()
	if said, err := planOf(p, "exp.yaml", "--json"); err != nil || !strings.Contains(said, `"weight_bytes":2000`) {
		t.Errorf("%v\n%s", err, said)
	}
	for _, r := range h.Requests() {
		if slices.Contains([]fakehub.Call{fakehub.ResolveCache, fakehub.Blob, fakehub.Xorb}, r.Call) {
			t.Errorf("the second plan asks again: %+v", r)
		}
	}
	h.ForgetRequests()
	said, err = planOf(p, "exp.yaml", "--offline")
	for _, want := range []string{"license gemma, gated (manual)", "llama, bfloat16, 2.0 kB on the GPU", "not checked access to org/adapter, and its newest commit, access to org/base"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("offline: %v, %q is missing in:\n%s", err, want, said)
		}
	}
	if asked := h.Requests(); len(asked) > 0 {
		t.Errorf("a plan offline asks: %+v", asked)
	}
	p.write("exp.yaml", "name: plan\nsandbox:\n  models:\n    - org/closed\nserve: [{file: interface.py}]\n")
	if said, err := planOf(p, "exp.yaml"); err == nil || !strings.Contains(said, "exp.yaml:4: ") || !strings.Contains(said, "gated") {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := planOf(p, "exp.yaml", "--offline"); err != nil || !strings.Contains(said, "nobody is asked for org/closed, and it was not looked at before") {
		t.Errorf("offline, of a model that is new: %v\n%s", err, said)
	}
	h.Close()
	if said, err := planOf(p, "exp.yaml"); err != nil || !strings.Contains(said, "was not looked at") {
		t.Errorf("without the Hub: %v\n%s", err, said)
	}
}
