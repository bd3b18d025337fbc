package modelfit_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/seer-engine/seer/engine/modelfit"
	"github.com/seer-engine/seer/engine/safetensors"
)

func TestCount(t *testing.T) {
	w := modelfit.Count(safetensors.Header{Tensors: map[string]safetensors.Tensor{
		"a": {DType: "BF16", Shape: []int64{2, 3}, Bytes: 12}, "b": {DType: "F32", Bytes: 4},
	}})
	if w.Elements != 7 || w.Bytes != 16 || w.ByDType["BF16"] != 12 {
		t.Errorf("%+v", w)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model_type":"gemma2","num_hidden_layers":2,"num_attention_heads":1,"num_key_value_heads":1,"head_dim":1000000000,"sliding_window":7}`), int64(4096))
	f.Fuzz(func(t *testing.T, text []byte, context int64) {
		if c, err := modelfit.ParseConfig(text); err == nil {
			if size, known := c.KVBytes(context, 3, 2); size < 0 || !known && size != 0 {
				t.Errorf("%d, %v", size, known)
			}
		}
	})
}

// The sizes were measured on the cache of transformers 5.23.0, on meta-device models: 2
// sequences of 100 tokens in bfloat16. A layer with a window keeps one token less there.
func TestKVBytes(t *testing.T) {
	text, err := os.ReadFile("testdata/transformers.json")
	if err != nil {
		t.Fatal(err)
	}
	var measured []struct {
		Config json.RawMessage
		Bytes  int64
	}
	if err := json.Unmarshal(text, &measured); err != nil || len(measured) == 0 {
		t.Fatal(len(measured), err)
	}
	for _, m := range measured {
		c, err := modelfit.ParseConfig(m.Config)
		if err != nil {
			t.Fatal(err)
		}
		got, known := c.KVBytes(100, 2, 2)
		ratio := float64(got) / float64(m.Bytes)
		t.Logf("%-12s %8d of %8d, %.4f", c.Architecture(), got, m.Bytes, ratio)
		if !known || ratio < 1 || ratio > 24.0/23 {
			t.Errorf("%s: %d, %v; measured were %d", c.Architecture(), got, known, m.Bytes)
		}
	}
	for _, unknown := range []string{`{}`, `{"model_type":"jamba","num_hidden_layers":2,"num_attention_heads":2,"hidden_size":8}`,
		`{"model_type":"gemma2","num_hidden_layers":2,"num_attention_heads":2,"hidden_size":8}`} {
		c, err := modelfit.ParseConfig([]byte(unknown))
		if size, known := c.KVBytes(100, 1, 2); err != nil || known || size != 0 {
			t.Errorf("%s: %d, %v, %v", unknown, size, known, err)
		}
	}
}
