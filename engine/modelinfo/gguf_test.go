package modelinfo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/internal/testkit"
)

const mega = 1 << 20

// ggufFile is a file with a hole for its tensors: two of 2 Mi numbers in Q4_K and one in F32.
func ggufFile(t *testing.T, path string, metadata map[string]any) {
	t.Helper()
	header := testkit.GGUF(metadata, map[string]testkit.GGUFTensor{
		"a": {Type: 12, Shape: []uint64{2048, 1024}}, "b": {Type: 12, Shape: []uint64{2048, 1024}}, "c": {Type: 0, Shape: []uint64{16}},
	})
	testkit.WriteFiles(t, filepath.Dir(path), map[string]string{filepath.Base(path): string(header)})
	if err := os.Truncate(path, int64(len(header))+ggufBytes); err != nil {
		t.Fatal(err)
	}
}

const ggufBytes = 2*2*mega/256*144 + 64

func TestGGUF(t *testing.T) {
	t.Parallel()
	llama := func(more map[string]any) map[string]any {
		all := map[string]any{"general.architecture": "llama", "llama.block_count": uint32(3), "llama.embedding_length": uint32(64),
			"llama.attention.head_count": uint32(4), "llama.attention.head_count_kv": uint32(2), "llama.context_length": uint32(1000)}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	const token = 2 * 2 * 16 * 2 // bytes of a layer: keys and values of 2 heads of 64/4 numbers in float16
	base := modelinfo.Info{Architecture: "llama", Quantization: "gguf Q4_K", Elements: 4*mega + 16, WeightBytes: ggufBytes, CacheTokens: 1000, CacheBatch: 1, CacheLimited: true}
	for name, tc := range map[string]struct {
		metadata map[string]any
		cache    int64
	}{
		"grouped queries":    {llama(nil), 3 * 1000 * token},
		"sizes of heads":     {llama(map[string]any{"llama.attention.key_length": uint32(32), "llama.attention.value_length": uint32(8)}), 3 * 1000 * 2 * (32 + 8) * 2},
		"heads of each":      {llama(map[string]any{"llama.attention.head_count_kv": []uint32{2, 0, 4}}), 3 * 1000 * token},
		"windows":            {llama(map[string]any{"llama.attention.sliding_window": uint32(100), "llama.attention.sliding_window_pattern": []bool{true, false, true}}), (100 + 1000 + 100) * token},
		"a wide window":      {llama(map[string]any{"llama.attention.sliding_window": uint32(5000)}), 3 * 1000 * token},
		"windows of unknown": {llama(map[string]any{"llama.attention.sliding_window": uint32(100)}), 0},
		"latent attention":   {llama(map[string]any{"llama.attention.kv_lora_rank": uint32(512)}), 0},
		"recurrent":          {llama(map[string]any{"llama.ssm.state_size": uint32(16)}), 0},
		"no size":            {map[string]any{"general.architecture": "llama", "llama.context_length": uint32(1000)}, 0},
	} {
		dir := t.TempDir()
		ggufFile(t, filepath.Join(dir, "m.gguf"), tc.metadata)
		want := base
		want.CacheBytes = tc.cache
		if got, err := modelinfo.Read(dir, modelinfo.Options{}); err != nil || got != want {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, want)
		}
	}
}

// Files of one model count together; of several models, the user must choose.
func TestGGUFFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	about := map[string]any{"general.architecture": "bert", "bert.attention.causal": false}
	ggufFile(t, filepath.Join(dir, "m-00001-of-00002.gguf"), about)
	ggufFile(t, filepath.Join(dir, "m-00002-of-00002.gguf"), nil)
	ggufFile(t, filepath.Join(dir, "mmproj-m.gguf"), nil)
	want := modelinfo.Info{Architecture: "bert", Quantization: "gguf Q4_K", Elements: 2 * (4*mega + 16), WeightBytes: 2 * ggufBytes}
	if got, err := modelinfo.Read(dir, modelinfo.Options{}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	ggufFile(t, filepath.Join(dir, "other.gguf"), about)
	want = modelinfo.Info{Unknown: "it has 2 GGUF models (m.gguf, other.gguf …); choose one with include"}
	if got, err := modelinfo.Read(dir, modelinfo.Options{}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}
