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
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/plan"
)

// cloudWeights is the size of the large file of each model of the test.
const cloudWeights = 24 << 20

// movedClock is the clock of a Hub whose signed addresses expire when a test moves it.
type movedClock struct{ by atomic.Int64 }

func (c *movedClock) Now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

func hubText(s string) fakehub.File { return fakehub.File{Content: fakehub.Text(s)} }

// openHub is a Hub with models for everybody, one that only the user may have, an adapter to it,
// and one that the user may not have.
func openHub(t *testing.T, o fakehub.Options) *fakehub.Hub {
	t.Helper()
	files := func(seed uint64) []fakehub.Commit {
		return []fakehub.Commit{{Files: map[string]fakehub.File{
			"config.json": hubText("{}"), "sub/vocab.txt": hubText("a b"), "empty": hubText(""),
			"model.safetensors": {Content: fakehub.Random(cloudWeights, seed), Kind: fakehub.LFS},
		}}}
	}
	o.LargestWhole = 1 << 20
	o.Repos = []fakehub.Repo{
		{ID: "org/open", Commits: files(1), Info: map[string]any{"cardData": map[string]any{"license": "mit"}}},
		{ID: "org/part", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"a.json": hubText("{}"), "sub/vocab.txt": hubText("c d"), "no.txt": hubText("")}}}},
		{ID: "org/set", Type: fakehub.Dataset, Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"train.csv": hubText("1,2")}}}},
		{ID: "org/gated", Gated: "manual", Readers: []string{"user"}, Commits: files(2)},
		{ID: "org/closed", Gated: "manual", Commits: files(3)},
		{ID: "org/adapter", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"adapter_config.json":       hubText(`{"peft_type": "LORA", "base_model_name_or_path": "org/gated"}`),
			"adapter_model.safetensors": {Content: fakehub.Random(4096, 4), Kind: fakehub.LFS},
		}}}},
	}
	h, err := fakehub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

const cloudTools = `import hashlib, os
def paths(root: str) -> list[str]:
    return sorted(os.path.relpath(os.path.join(at, name), root) for at, _, all in os.walk(root) for name in all)
@expose
def files(name: str) -> dict[str, str]:
    root, found = get_model_path(name), {}
    for path in paths(root):
        with open(os.path.join(root, path), "rb") as f:
            found[path] = hashlib.file_digest(f, "sha256").hexdigest()
    return found
@expose
def names(name: str) -> list[str]:
    return paths(get_dataset_path(name) if name == "org/set" else get_model_path(name))
@expose
def found(folder: str, file: str) -> str:
    "What a client of the Hub reads."
    home = os.path.join(os.path.expanduser("~/.cache/huggingface/hub"), folder)
    with open(os.path.join(home, "refs", "main")) as f:
        commit = f.read()
    with open(os.path.join(home, "snapshots", commit, file)) as f:
        return f.read()
@expose
def variables() -> dict[str, str]:
    "The last parts of paths: the machines of a fake have their files in its folder."
    return {n: "/".join(v.split("/")[-2:]) for n, v in os.environ.items() if n.startswith(("MODEL_", "DATASET_", "HF_TOKEN")) or v.startswith("hf_")}
@expose
def spoil(name: str) -> None:
    with open(os.path.join(get_model_path(name), "config.json"), "w") as f:
        f.write("{!")
`

const cloudAgent = `import model_tools
for name in ("org/open", "org/gated", "org/adapter"):
    print(name, sorted(model_tools.files(name).items()))
print(model_tools.names("org/part"), model_tools.names("org/set"))
print(model_tools.found("models--org--part", "sub/vocab.txt"), model_tools.found("datasets--org--set", "train.csv"))
print(sorted(model_tools.variables().items()))
`

const cloudModels = `name: test
gpu: {use_model_volumes: true}
models: [org/open, {name: org/adapter, is_peft: true, base_model: org/gated}, {name: org/part, include: ["*.json", sub/]}]
serve: [{file: tools.py, name: model_tools}]
workspace: {files: [agent.py]}
agent: {command: [python3, agent.py]}
`

// TestHubModelsOnACloud has the machine download models by itself: their bytes do not pass
// through this computer, and the token does not leave it. A gated model's addresses expire
// meanwhile. The next machines take the models from the volume, whatever a sandbox wrote to it.
func TestHubModelsOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		clock := &movedClock{}
		h := openHub(t, fakehub.Options{Clock: clock})
		p := c.at(t)
		maps.Copy(p.env, h.Env())
		p.env["HF_HOME"] = p.path("hf home")
		p.write("tools.py", cloudTools)
		p.write("agent.py", cloudAgent)
		p.write("exp.yaml", cloudModels)
		set := []string{"exp.yaml", "--set", "sandbox.provider=" + c.name, "--set", "sandbox.timeout=10m", "--set", "sandbox.datasets=[org/set]"}
		run := append([]string{"run"}, set...)

		before := c.rented()
		p.exits(10, append(append([]string{"up"}, set...), "--set", "sandbox.models=[org/closed]"), "org/closed is gated", h.URL(fakehub.API)+"/org/closed")
		if c.rented() != before {
			t.Error("a machine was rented for a model that the user may not have")
		}

		weights := []string{sumOf(fakehub.Random(cloudWeights, 1)), sumOf(fakehub.Random(cloudWeights, 2)), sumOf(fakehub.Random(4096, 4))}
		expire := h.Inject(fakehub.Fault{Call: fakehub.Blob, Path: "/blobs/" + weights[1], Skip: 1, Times: 1, Do: func() { clock.by.Add(int64(2 * time.Hour)) }})
		r := p.exits(0, run, weights[0], weights[1], weights[2], "sub/vocab.txt", "empty", "['a.json', 'sub/vocab.txt'] ['train.csv']", "c d 1,2",
			"[('DATASET_ORG_SET_PATH', 'datasets/org--set'), ('MODEL_ORG_ADAPTER_PATH', 'models/org--adapter'), ('MODEL_ORG_GATED_PATH', 'models/org--gated'), "+
				"('MODEL_ORG_OPEN_PATH', 'models/org--open'), ('MODEL_ORG_PART_PATH', 'models/org--part')]", "org/open: the machine downloads 4 files")
		expire()
		if clock.by.Load() == 0 {
			t.Error("no address expired")
		}
		for _, q := range h.Requests() {
			if q.HubToken && q.Host != fakehub.API {
				t.Errorf("the token went to %s: %+v", q.Host, q)
			}
		}
		wantProvenance(t, p, h)
		h.ForgetRequests()
		p.write("agent.py", cloudAgent+"model_tools.spoil('org/open')\n")
		for _, which := range []string{"the next machine", "the next machine, after a sandbox wrote to the volume,"} {
			if again := p.exits(0, run); again.out != r.out {
				t.Errorf("%s has\n%s\nnot\n%s", which, again.out, r.out)
			}
			for _, q := range h.Requests() {
				if which == "the next machine" && (q.Call == fakehub.Resolve && q.Status/100 == 2 || slices.Contains([]fakehub.Call{fakehub.Tree, fakehub.ResolveCache, fakehub.Blob, fakehub.Xorb}, q.Call)) {
					t.Errorf("%s asks for a file: %+v", which, q)
				}
			}
		}
		if n := largestFile(t, p.env["HF_HOME"], p.home); n >= cloudWeights {
			t.Errorf("a file of %d bytes came to this computer", n)
		}
	})
}

// provenance says where a model comes from.
type provenance struct {
	Name, Repo, Revision, License, Gate, Manifest string
	Files                                         []struct{ Path, SHA256 string }
}

// wantProvenance expects the origin of all that the last run had, in its outputs and in show.
func wantProvenance(t *testing.T, p *place, h *fakehub.Hub) {
	t.Helper()
	ended := p.ls("--all")
	if len(ended) == 0 {
		t.Fatal("no sandbox is known")
	}
	for what, said := range map[string]string{"run.json": p.read("runs/latest/run.json"), "show": p.ok("show", ended[len(ended)-1].ID, "--json")} {
		var all struct{ Models, Datasets []provenance }
		if err := json.Unmarshal([]byte(said), &all); err != nil {
			t.Fatal(err)
		}
		found := append(all.Models, all.Datasets...)
		for repo, want := range map[string]string{"org/open": "mit ", "org/gated": " manual", "org/adapter": " ", "datasets/org/set": " "} {
			i := slices.IndexFunc(found, func(f provenance) bool { return f.Repo == repo })
			if i < 0 || found[i].License+" "+found[i].Gate != want || found[i].Revision != h.Commit(repo, "main") || !strings.HasPrefix(found[i].Manifest, "sha256:") {
				t.Errorf("%s has of %s: %+v", what, repo, found)
			}
		}
	}
	sum := sumOf(fakehub.Random(cloudWeights, 2))
	if !strings.Contains(p.read("runs/latest/run.models.json"), sum) || !strings.Contains(p.ok("show", ended[len(ended)-1].ID, "--json"), sum) {
		t.Error("the hash of the weights is not told")
	}
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
