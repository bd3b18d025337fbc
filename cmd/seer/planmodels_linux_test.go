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
		{ID: "org/gguf", Commits: files(map[string]fakehub.File{"m-Q4_K_M.gguf": {Content: ggufContent, Kind: fakehub.LFS}, "README.md": text("")})},
		{ID: "org/ggufs", Commits: files(map[string]fakehub.File{"m-Q4_K_M.gguf": {Content: ggufContent, Kind: fakehub.LFS}, "m-Q8_0.gguf": {Content: ggufContent, Kind: fakehub.LFS}})},
		{ID: "org/closed", Type: fakehub.Dataset, Gated: "manual", Commits: files(map[string]fakehub.File{"data.json": text("[]")})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// ggufContent is a file of 48 MB, of which 3 MB are a vocabulary in its header.
var ggufContent = func() fakehub.Content {
	words := make([]string, 200_000)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i)
	}
	header := testkit.GGUF(map[string]any{"general.architecture": "llama", "llama.block_count": uint32(3), "llama.embedding_length": uint32(64),
		"llama.attention.head_count": uint32(4), "llama.attention.head_count_kv": uint32(2), "llama.context_length": uint32(100), "tokenizer.ggml.tokens": words},
		map[string]testkit.GGUFTensor{"w": {Type: 12, Shape: []uint64{4096, 20_000}}})
	return fakehub.Bytes(append(header, make([]byte, 4096*20_000/256*144)...))
}()

// Of a model in GGUF, the header is read by ranges; of several, the user must choose.
func TestPlanGGUF(t *testing.T) {
	t.Parallel()
	h := shownHub(t)
	p := hubProgram(t, h)
	p.runs("models", "pull", "org/adapter")
	before := h.Count(fakehub.CDN).Bytes
	writePlan(p, "  models: [org/gguf]\n")
	// 3 layers, 2 heads of 16 numbers, keys and values in float16, 100 tokens
	planSays(t, p, []string{"exp.yaml"}, "llama, gguf Q4_K, 46.1 MB on the GPU, and 38.4 kB for a context of 100 tokens (its limit) and a batch of 1")
	if read := h.Count(fakehub.CDN).Bytes - before; read > 12<<20 {
		t.Errorf("%d bytes were read for a header of 3 MB", read)
	}
	writePlan(p, "  models: [org/ggufs]\n")
	planSays(t, p, []string{"exp.yaml"}, "memory on the GPU not known: it has 2 GGUF models (m-Q4_K_M.gguf, m-Q8_0.gguf …); choose one with include")
	writePlan(p, "  models: [{name: org/ggufs, include: ['*Q8_0*']}]\n")
	planSays(t, p, []string{"exp.yaml"}, "llama, gguf Q4_K, 46.1 MB on the GPU")
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
