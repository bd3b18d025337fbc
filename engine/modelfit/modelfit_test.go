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

// The sizes were measured on the cache of transformers 5.23.0: 2 sequences of 100 tokens in
// bfloat16, of files that have little more than the type, of small ones, and of complete ones.
// A layer with a window keeps one token less there. Every architecture was measured.
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
	worst := map[string]float64{}
	for _, m := range measured {
		c, err := modelfit.ParseConfig(m.Config)
		if err != nil {
			t.Fatal(err)
		}
		got, known := c.KVBytes(100, 2, 2)
		ratio := float64(got) / float64(m.Bytes)
		if !known || ratio < 1 || ratio > 24.0/23 {
			t.Errorf("%s: %d, %v; measured were %d", m.Config, got, known, m.Bytes)
		}
		worst[c.Architecture()] = max(worst[c.Architecture()], ratio)
		var parts struct {
			Text struct {
				Type string `json:"model_type"`
			} `json:"text_config"`
		}
		if json.Unmarshal(m.Config, &parts) == nil && parts.Text.Type != "" {
			worst[parts.Text.Type] = max(worst[parts.Text.Type], ratio)
		}
	}
	for _, name := range modelfit.Architectures() {
		t.Logf("%-20s %.3f", name, worst[name])
		if worst[name] == 0 {
			t.Errorf("%s was not measured", name)
		}
	}
}

// What is not known is not guessed.
func TestUnknown(t *testing.T) {
	for _, unknown := range []string{
		`{}`, `{"model_type":"newest","num_hidden_layers":2,"num_attention_heads":2,"hidden_size":8}`,
		`{"model_type":"newest_vl","text_config":{"model_type":"llama"}}`, // what is around the text model may keep more
		`{"model_type":"llama","num_hidden_layers":2,"layer_types":["full_attention"]}`,
		`{"model_type":"llama","num_hidden_layers":1,"layer_types":["newest_attention"]}`,
		`{"model_type":"llama","num_hidden_layers":1000000}`, `{"model_type":"nemotron_h"}`,
	} {
		c, err := modelfit.ParseConfig([]byte(unknown))
		if size, known := c.KVBytes(100, 1, 2); err != nil || known || size != 0 {
			t.Errorf("%s: %d, %v, %v", unknown, size, known, err)
		}
	}
}

// null in a file is an answer: Mistral 7B v0.3 has no window, though its class has one.
func TestNull(t *testing.T) {
	c, err := modelfit.ParseConfig([]byte(`{"model_type":"mistral","num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":8,"sliding_window":null}`))
	if got, known := c.KVBytes(10_000, 1, 2); err != nil || !known || got != 10_000*2*8*2 {
		t.Errorf("%d, %v, %v", got, known, err)
	}
}

func TestCached(t *testing.T) {
	for text, want := range map[string]bool{`{"model_type":"bert"}`: false, `{"model_type":"bert","is_decoder":true}`: true, `{"model_type":"llama"}`: true, `{}`: true} {
		if c, err := modelfit.ParseConfig([]byte(text)); err != nil || c.Cached() != want {
			t.Errorf("%s: %v, %v", text, c.Cached(), err)
		}
	}
}
