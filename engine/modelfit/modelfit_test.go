package modelfit_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"testing"

	"github.com/seer-engine/seer/engine/modelfit"
)

func TestHeader(t *testing.T) {
	const text = `{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}`
	n, err := modelfit.HeaderLength(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
	if err != nil || n != int64(len(text)) {
		t.Errorf("%d, %v", n, err)
	}
	tensors, err := modelfit.ParseHeader([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if w := modelfit.Count(tensors); w.Elements != 7 || w.Bytes != 16 || w.ByDType["BF16"] != 12 {
		t.Errorf("%+v", w)
	}
	for _, bad := range []string{``, `[]`, `{"a":7}`, `{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, `{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`} {
		if _, err := modelfit.ParseHeader([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if _, err := modelfit.HeaderLength([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")); err == nil {
		t.Error("a header without limit is accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":{"dtype":"F32","shape":[9223372036854775807,9],"data_offsets":[0,4]}}`), int64(1)<<62)
	f.Add([]byte(`{"model_type":"gemma2","num_hidden_layers":2,"num_attention_heads":1,"num_key_value_heads":1,"head_dim":1000000000,"sliding_window":7}`), int64(4096))
	f.Fuzz(func(t *testing.T, text []byte, context int64) {
		if tensors, err := modelfit.ParseHeader(text); err == nil {
			if w := modelfit.Count(tensors); w.Elements < 0 || w.Bytes < 0 {
				t.Errorf("%+v", w)
			}
		}
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
