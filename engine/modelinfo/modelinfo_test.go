package modelinfo_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/internal/testkit"
)

// tensors is a file of safetensors of which only the header is there.
func tensors(dtype string, shape, bytes int64) string {
	header := fmt.Sprintf(`{"w":{"dtype":%q,"shape":[%d],"data_offsets":[0,%d]}}`, dtype, shape, bytes)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header
}

const llama = `{"model_type": "llama", "torch_dtype": "bfloat16", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64, "max_position_embeddings": 100}`

func TestRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  modelinfo.Info
	}{
		"no model": {map[string]string{"notes.txt": "x"}, modelinfo.Info{Unknown: "it has no config.json"}},
		"other formats": {map[string]string{"config.json": llama, "model.onnx": "x", "tokenizer.json": "{}"},
			modelinfo.Info{Architecture: "llama", DType: "bfloat16", Unknown: "it has no weights in safetensors or GGUF", CacheBytes: 25600, CacheTokens: 100, CacheBatch: 1, CacheLimited: true}},
		"encoder": {map[string]string{"config.json": `{"model_type": "bert", "num_hidden_layers": 2}`, "model.safetensors": tensors("F32", 10, 40), "vocab.txt": ""},
			modelinfo.Info{Architecture: "bert", Elements: 10, WeightBytes: 40}},
		"of pictures": {map[string]string{"config.json": `{"model_type": "vit"}`, "model.safetensors": tensors("F32", 10, 40)},
			modelinfo.Info{Architecture: "vit", Elements: 10, WeightBytes: 40}},
		// AWQ packs 8 numbers into an I32; these and FP8 stay as they are, whatever the data type.
		"packed": {map[string]string{"config.json": strings.Replace(llama, "{", `{"quantization_config": {"quant_method": "awq"},`, 1), "model.safetensors": tensors("I32", 10, 40), "vocab.txt": ""},
			modelinfo.Info{Architecture: "llama", DType: "bfloat16", Quantization: "awq", Elements: 10, WeightBytes: 40, CacheBytes: 25600, CacheTokens: 100, CacheBatch: 1, CacheLimited: true}},
		// As google/gemma-3-4b-it: the class of transformers knows 8 heads, 4 of keys and values, of 256.
		"in parts, with what its class knows": {map[string]string{"model.safetensors": tensors("F32", 10, 40), "vocab.txt": "",
			"config.json": `{"model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": {"num_hidden_layers": 6, "sliding_window": 1024}}`},
			modelinfo.Info{Architecture: "gemma3", DType: "bfloat16", Elements: 10, WeightBytes: 20, CacheBytes: (5*1024 + 4096) * 2 * 4 * 256 * 2, CacheTokens: 4096, CacheBatch: 1}},
		"whole": {map[string]string{"config.json": llama, "model.safetensors": tensors("BF16", 1000, 2000), "tokenizer.json": "{}"},
			// 2 layers, 2 of 4 heads of 16 numbers each, keys and values, 100 tokens, 2 bytes
			modelinfo.Info{Architecture: "llama", DType: "bfloat16", Elements: 1000, WeightBytes: 2000, CacheBytes: 2 * 2 * 16 * 2 * 100 * 2, CacheTokens: 100, CacheBatch: 1, CacheLimited: true}},
		"stored in another type, in parts": {map[string]string{
			"config.json": llama, "a.safetensors": tensors("F32", 1000, 4000), "b.safetensors": tensors("U8", 100, 100), "other.safetensors": tensors("F32", 1, 4),
			"model.safetensors.index.json": `{"weight_map": {"w": "a.safetensors", "x": "b.safetensors", "y": "a.safetensors"}}`,
		}, modelinfo.Info{Architecture: "llama", DType: "bfloat16", Elements: 1100, WeightBytes: 2100, CacheBytes: 25600, CacheTokens: 100, CacheBatch: 1, CacheLimited: true, NoTokenizer: true}},
		"unknown": {map[string]string{"config.json": `{"model_type": "newest"}`, "model.safetensors": tensors("F16", 10, 20), "vocab.txt": ""},
			modelinfo.Info{Architecture: "newest", Elements: 10, WeightBytes: 20, CacheTokens: modelinfo.Tokens, CacheBatch: 1}},
		"adapter": {map[string]string{"adapter_config.json": `{"base_model_name_or_path": "org/base"}`, "adapter_model.safetensors": tensors("F32", 10, 40)},
			modelinfo.Info{Adapter: true, Base: "org/base", Elements: 10, WeightBytes: 40}},
	} {
		dir := t.TempDir()
		testkit.WriteFiles(t, dir, tc.files)
		if got, err := modelinfo.Read(dir, modelinfo.Options{}); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, tc.want)
		}
	}
}

// The data type that the experiment names counts, for weights and cache alike.
func TestDType(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.WriteFiles(t, dir, map[string]string{"config.json": llama, "model.safetensors": tensors("BF16", 1000, 2000), "vocab.txt": ""})
	got, err := modelinfo.Read(dir, modelinfo.Options{DType: "float32"})
	if err != nil || got.DType != "float32" || got.WeightBytes != 4000 || got.CacheBytes != 2*25600 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The cache is that of the context and the batch that are asked for; the model's limit counts.
func TestContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.WriteFiles(t, dir, map[string]string{"config.json": llama, "model.safetensors": tensors("BF16", 1000, 2000), "vocab.txt": ""})
	got, err := modelinfo.Read(dir, modelinfo.Options{Context: 50, Batch: 3})
	if err != nil || got.CacheBytes != 3*25600/2 || got.CacheTokens != 50 || got.CacheBatch != 3 || got.CacheLimited {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = modelinfo.Read(dir, modelinfo.Options{Context: 1 << 40, Batch: 3})
	if err != nil || got.CacheBytes != 3*25600 || got.CacheTokens != 100 || !got.CacheLimited {
		t.Errorf("beyond its limit: %+v, %v", got, err)
	}
}

// What is damaged is one error that names the file.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"config":     {"config.json": "{"},
		"adapter":    {"adapter_config.json": "["},
		"short":      {"config.json": llama, "model.safetensors": "abc"},
		"length":     {"config.json": llama, "model.safetensors": "\xff\xff\xff\xff\xff\xff\xff\xff"},
		"cut":        {"config.json": llama, "model.safetensors": tensors("F32", 1, 4)[:20]},
		"incomplete": {"config.json": llama, "model.safetensors.index.json": `{"weight_map": {"w": "a.safetensors"}}`},
		"gguf":       {"model.gguf": "GGUF"},
		"index":      {"config.json": llama, "model.safetensors.index.json": `{"weight_map": []}`},
		"outside":    {"config.json": llama, "model.safetensors.index.json": `{"weight_map": {"w": "../../etc/passwd"}}`},
	} {
		dir := t.TempDir()
		testkit.WriteFiles(t, dir, files)
		if got, err := modelinfo.Read(dir, modelinfo.Options{}); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	dir := t.TempDir()
	testkit.WriteFiles(t, dir, map[string]string{"config.json": ""})
	if err := os.Truncate(filepath.Join(dir, "config.json"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := modelinfo.Read(dir, modelinfo.Options{}); err == nil {
		t.Error("a configuration of 1 GB is read")
	}
}

func TestSameBase(t *testing.T) {
	for _, tc := range []struct {
		configured, wanted string
		same               bool
	}{
		{"org/base", "org/base", true}, {"Org/Base", "org/base", true}, {"org/other", "org/base", false}, {"", "org/base", true},
		{"/data/base", "org/base", true}, {"base", "org/base", true}, {"org/base", "./base", true},
	} {
		if got := modelinfo.SameBase(tc.configured, tc.wanted); got != tc.same {
			t.Errorf("%q and %q: %v", tc.configured, tc.wanted, got)
		}
	}
}
