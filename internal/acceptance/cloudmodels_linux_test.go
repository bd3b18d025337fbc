package acceptance

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/plan"
)

// cloudWeights is the size of the large file of each model of the test.
const cloudWeights = 24 << 20

// openHub is a Hub with a model for everybody and one that only the user may have.
func openHub(t *testing.T) *fakehub.Hub {
	t.Helper()
	files := func(seed uint64) map[string]fakehub.File {
		return map[string]fakehub.File{
			"config.json": {Content: fakehub.Text("{}")}, "sub/vocab.txt": {Content: fakehub.Text("a b")}, "empty": {Content: fakehub.Text("")},
			"model.safetensors": {Content: fakehub.Random(cloudWeights, seed), Kind: fakehub.LFS},
		}
	}
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{
		{ID: "org/open", Commits: []fakehub.Commit{{Files: files(1)}}},
		{ID: "org/set", Type: fakehub.Dataset, Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"train.csv": {Content: fakehub.Text("1,2")}}}}},
		{ID: "org/gated", Gated: "manual", Readers: []string{"user"}, Commits: []fakehub.Commit{{Files: files(2)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// TestHubModelsOnACloud has the machine download models by itself: their bytes do not pass
// through this computer, and the token does not leave it.
func TestHubModelsOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		h := openHub(t)
		p := c.at(t)
		maps.Copy(p.env, h.Env())
		p.env["HF_HOME"] = p.path("hf home")
		p.write("tools.py", `import hashlib, os
@expose
def files(name: str) -> dict[str, str]:
    root, found = get_model_path(name), {}
    for folder, _, names in os.walk(root):
        for one in names:
            path = os.path.join(folder, one)
            with open(path, "rb") as f:
                found[os.path.relpath(path, root)] = hashlib.file_digest(f, "sha256").hexdigest()
    return found
@expose
def spoil(name: str) -> None:
    with open(os.path.join(get_model_path(name), "config.json"), "w") as f:
        f.write("{!")
@expose
def token() -> list[str]:
    return [n for n, v in os.environ.items() if v.startswith("hf_")]
`)
		p.write("agent.py", `import model_tools, pathlib
for name in ("org/open", "org/gated"):
    print(name, sorted(model_tools.files(name).items()))
print("tokens", model_tools.token())
`)
		p.write("exp.yaml", fmt.Sprintf(`name: test
sandbox:
  provider: %s
  timeout: 10m
  models: [org/open, org/gated]
  volumes: [{name: kept, path: /kept, size: 10GB, models: true}]
serve: [{file: tools.py, name: model_tools}]
workspace: {files: [agent.py]}
agent: {command: [python3, agent.py]}
`, c.name))
		r := p.exits(0, []string{"run", "exp.yaml"}, "tokens []", "sub/vocab.txt", "empty")
		for seed := range uint64(2) {
			if sum := sumOf(fakehub.Random(cloudWeights, seed+1)); !strings.Contains(r.out, sum) {
				t.Errorf("the weights %s are not on the machine:\n%s", sum, r.out)
			}
		}
		if !strings.Contains(r.err, "org/open: the machine downloads 4 files") {
			t.Errorf("the user is told:\n%s", r.err)
		}
		for _, q := range h.Requests() {
			if q.HubToken && q.Host != fakehub.API {
				t.Errorf("the token went to %s: %+v", q.Host, q)
			}
		}
		h.ForgetRequests()
		if again := p.exits(0, []string{"run", "exp.yaml"}); again.out != r.out {
			t.Errorf("the next machine has\n%s\nnot\n%s", again.out, r.out)
		}
		for _, q := range h.Requests() {
			if slices.Contains([]fakehub.Call{fakehub.ResolveCache, fakehub.Blob, fakehub.Xorb}, q.Call) {
				t.Errorf("the next machine asks for a file: %+v", q)
			}
		}
		agent := p.read("agent.py")
		p.write("agent.py", "import model_tools\nmodel_tools.spoil('org/open')\n")
		p.exits(0, []string{"run", "exp.yaml"})
		p.write("agent.py", agent)
		if again := p.exits(0, []string{"run", "exp.yaml"}); again.out != r.out {
			t.Errorf("after a sandbox wrote to the volume, the next one has\n%s\nnot\n%s", again.out, r.out)
		}
		if n := largestFile(t, p.env["HF_HOME"], p.home); n >= cloudWeights {
			t.Errorf("a file of %d bytes came to this computer", n)
		}
	})
}

// TestHubNamesOnACloud has a rented machine get a dataset and a part of a model, which the
// clients of the Hub find there by name.
func TestHubNamesOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		h := openHub(t)
		p := c.at(t)
		maps.Copy(p.env, h.Env())
		p.env["HF_HOME"] = p.path("hf home")
		p.write("tools.py", `import os
@expose
def names(path: str) -> list[str]:
    root = get_dataset_path(path) if path == "org/set" else get_model_path(path)
    return sorted(os.path.relpath(os.path.join(at, name), root) for at, _, all in os.walk(root) for name in all)
@expose
def found(folder: str, file: str) -> str:
    "What a client of the Hub reads."
    home = os.path.join(os.path.expanduser("~/.cache/huggingface/hub"), folder)
    with open(os.path.join(home, "refs", "main")) as f:
        commit = f.read()
    with open(os.path.join(home, "snapshots", commit, file)) as f:
        return f.read()
`)
		p.write("agent.py", `import model_tools
print(model_tools.names("org/open"), model_tools.names("org/set"))
print(model_tools.found("models--org--open", "sub/vocab.txt"), model_tools.found("datasets--org--set", "train.csv"))
`)
		p.write("exp.yaml", fmt.Sprintf(`name: test
sandbox:
  provider: %s
  timeout: 10m
  models: [{name: org/open, include: ["*.json", sub/]}]
  datasets: [org/set]
serve: [{file: tools.py, name: model_tools}]
workspace: {files: [agent.py]}
agent: {command: [python3, agent.py]}
`, c.name))
		p.exits(0, []string{"run", "exp.yaml"}, "['config.json', 'sub/vocab.txt'] ['train.csv']", "a b 1,2")
	})
}

// TestPlanNamesGPUs: a plan compares a model with the GPU that is asked for, and names those that
// are enough with their prices. Offline, it asks nobody and says so.
func TestPlanNamesGPUs(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		const weights = 30_000_000_000
		p := c.at(t)
		p.write("large/config.json", `{"model_type": "llama", "num_hidden_layers": 8}`)
		header := fmt.Sprintf(`{"w":{"dtype":"BF16","shape":[%d],"data_offsets":[0,%d]}}`, weights/2, weights)
		p.write("large/model.safetensors", string(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))+header)
		if err := os.Truncate(p.path("large/model.safetensors"), int64(8+len(header)+weights)); err != nil { // a hole
			t.Fatal(err)
		}
		p.write("plan.yaml", fmt.Sprintf("name: test\nsandbox: {provider: %s, gpu: L4, disk: 20GB, timeout: 10m, models: [./large]}\nserve: [{file: tools.py, name: model_tools}]\n", c.name))
		var made plan.Plan
		if err := json.Unmarshal([]byte(p.exits(0, []string{"plan", "plan.yaml", "--json"}).out), &made); err != nil {
			t.Fatal(err)
		}
		if len(made.GPUsThatFit) == 0 || len(made.NotChecked) > 0 {
			t.Fatalf("%+v", made)
		}
		for i, g := range made.GPUsThatFit {
			if g.Provider != c.name || g.GPUMemoryGB*(1<<30) < weights || g.CostPerHour <= 0 || i > 0 && g.CostPerHour < made.GPUsThatFit[i-1].CostPerHour {
				t.Errorf("%+v", made.GPUsThatFit)
			}
		}
		p.exits(0, []string{"plan", "plan.yaml"}, "the models need about 31.3 GB on the GPU", "1 × L4 has 25.8 GB", "these are enough: "+made.GPUsThatFit[0].GPU+" at "+c.name,
			"sandbox.disk: the models have 30.0 GB, and the disk has 20 GB", "disk        30.0 GB for models", "gpu         enough for the models, by price: ")
		var offline plan.Plan
		if err := json.Unmarshal([]byte(p.exits(0, []string{"plan", "plan.yaml", "--json", "--offline"}).out), &offline); err != nil {
			t.Fatal(err)
		}
		if len(offline.GPUsThatFit) > 0 || !slices.Contains(offline.NotChecked, "price and stock of "+c.name) || offline.ModelBytes != made.ModelBytes {
			t.Errorf("offline: %+v", offline)
		}
	})
}

func sumOf(c fakehub.Content) string {
	sum := sha256.New()
	_, _ = io.Copy(sum, io.NewSectionReader(c, 0, c.Size())) // a hash never fails
	return hex.EncodeToString(sum.Sum(nil))
}

// largestFile is the size of the largest file in some folders that is no hole.
func largestFile(t *testing.T, dirs ...string) (most int64) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if os.IsNotExist(err) || err != nil || !d.Type().IsRegular() {
				return nil
			}
			if info, err := d.Info(); err == nil {
				most = max(most, info.Size())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return most
}
