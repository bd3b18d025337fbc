package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/testkit"
)

// shownHub has a model with weights of 2 kB, an adapter of it and two datasets.
func shownHub(t *testing.T) *fakehub.Hub {
	t.Helper()
	header := `{"w":{"dtype":"BF16","shape":[1000],"data_offsets":[0,2000]}}`
	weights := fakehub.File{Content: fakehub.Text(string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + strings.Repeat("w", 2000)), Kind: fakehub.LFS}
	text := func(s string) fakehub.File { return fakehub.File{Content: fakehub.Text(s)} }
	files := func(f map[string]fakehub.File) []fakehub.Commit { return []fakehub.Commit{{Files: f}} }
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{
		{ID: "org/base", Commits: files(map[string]fakehub.File{
			"config.json":       text(`{"model_type": "llama", "torch_dtype": "bfloat16", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64, "max_position_embeddings": 100}`),
			"model.safetensors": weights, "tokenizer.json": text("{}"),
		})},
		{ID: "org/adapter", Commits: files(map[string]fakehub.File{"adapter_config.json": text(`{"base_model_name_or_path": "org/base"}`), "adapter_model.safetensors": weights})},
		{ID: "org/large", Commits: files(map[string]fakehub.File{"model.bin": {Content: fakehub.Random(32<<20, 2), Kind: fakehub.LFS}})},
		{ID: "org/set", Type: fakehub.Dataset, Gated: "manual", Readers: []string{"user"}, Info: map[string]any{"cardData": map[string]any{"license": "cc0"}},
			Commits: files(map[string]fakehub.File{"data.json": text("[]"), "large.bin": {Content: fakehub.Random(5000, 1), Kind: fakehub.LFS}})},
		{ID: "org/closed", Type: fakehub.Dataset, Gated: "manual", Commits: files(map[string]fakehub.File{"data.json": text("[]")})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// planProgram is the program with that hub. Its plugin is prepared: on a busy computer that may take
// longer than a plan waits for what it asks.
func planProgram(t *testing.T) *program {
	t.Helper()
	p := hubProgram(t, shownHub(t))
	p.runs("models", "pull", "org/adapter")
	return p
}

func writePlan(p *program, sandbox string) {
	p.write("exp.yaml", "name: plan\nsandbox:\n"+sandbox+"serve: [{file: interface.py}]\n")
}

// planSays checks the words of a plan.
func planSays(t *testing.T, p *program, args []string, wants ...string) {
	t.Helper()
	said, err := planOf(p, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in:\n%s", want, said)
		}
	}
}

// seer plan looks at datasets as it does at models, and says what an adapter needs.
func TestPlanDatasets(t *testing.T) {
	p := planProgram(t)
	writePlan(p, "  disk: 1GB\n  models: [org/adapter]\n  datasets: [org/set, ./data]\n")
	testkit.WriteFiles(t, p.dir, map[string]string{"data/rows.csv": "1,2,3"})
	planSays(t, p, []string{"exp.yaml"},
		"2 files, 5.0 kB, license cc0, gated (manual)", "1 file, 5 B", "for models, 5.0 kB for datasets",
		"exp.yaml:4: sandbox.models.0: the model org/adapter is an adapter of org/base", "write {name: org/adapter, is_peft: true, base_model: org/base}",
	)
	out, _ := p.runs("plan", "exp.yaml", "--json")
	var made plan.Plan
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatal(err)
	}
	set := made.Datasets[0].Facts
	if set == nil || set.Repo != "datasets/org/set" || len(set.Revision) != 40 || len(set.Files) != 2 || len(set.Files[0].GitSHA1) != 40 || len(set.Files[1].SHA256) != 64 || set.Files[1].Size != 5000 {
		t.Errorf("the dataset: %+v", set)
	}
	if model := made.Models[0].Facts; model == nil || model.Repo != "org/adapter" || len(model.Files) != 2 || len(model.Files[1].SHA256) != 64 || !model.Adapter {
		t.Errorf("the model: %+v", model)
	}
	if made.DatasetBytes != 5002+5 || made.Datasets[1].Facts.Files[0].Path != "rows.csv" {
		t.Errorf("%d bytes, %+v", made.DatasetBytes, made.Datasets[1].Facts)
	}
	writePlan(p, "  datasets: [org/closed]\n")
	if said, err := planOf(p, "exp.yaml"); err == nil || !strings.Contains(said, "exp.yaml:3: sandbox.datasets.0: dataset org/closed") || !strings.Contains(said, "gated") {
		t.Errorf("a dataset that the user may not have: %v\n%s", err, said)
	}
}

// The memory of a model is that of the context and batch that are asked for.
func TestPlanContext(t *testing.T) {
	p := planProgram(t)
	writePlan(p, "  models: [org/base]\n")
	planSays(t, p, []string{"exp.yaml"}, "25.6 kB for a context of 100 tokens (its limit) and a batch of 1")
	planSays(t, p, []string{"exp.yaml", "--context", "50", "--batch", "4"}, "51.2 kB for a context of 50 tokens and a batch of 4")
	planSays(t, p, []string{"exp.yaml", "--context", "50", "--batch", "4", "--json"}, fmt.Sprintf(`"cache_bytes":%d,"cache_tokens":50,"cache_batch":4`, 51200))
	if said, err := planOf(p, "exp.yaml", "--batch", "0"); err == nil || !strings.Contains(said, "--batch 0") {
		t.Errorf("a batch of 0: %v\n%s", err, said)
	}
}

// The time of a download is that at the last rate from its host, or at an assumed one; what is on
// this computer takes none.
func TestPlanDownloadTime(t *testing.T) {
	p := planProgram(t)
	writePlan(p, "  models: [org/large]\n")
	planSays(t, p, []string{"exp.yaml"}, "download: 33.6 MB, about 1 s at 100.0 MB/s (assumed: no download from 127.0.0.1:")
	p.runs("models", "pull", "org/large")
	if said, err := planOf(p, "exp.yaml"); err != nil || strings.Contains(said, "download:") {
		t.Errorf("of a model that is here: %v\n%s", err, said)
	}
	p.runs("models", "rm", "org/large", "--yes")
	planSays(t, p, []string{"exp.yaml"}, "download: 33.6 MB, about ", "(last seen from 127.0.0.1:")
	out, _ := p.runs("plan", "exp.yaml", "--json")
	var made plan.Plan
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatal(err)
	}
	d := made.Models[0].Facts.Download
	if d == nil || d.Assumed || d.Rented || d.Measured.IsZero() || d.BytesPerSecond <= 0 || d.Seconds*d.BytesPerSecond < 33e6 || d.Seconds*d.BytesPerSecond > 34e6 {
		t.Errorf("%+v", d)
	}
}
