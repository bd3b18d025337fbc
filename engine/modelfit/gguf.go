package modelfit

import (
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/gguf"
)

// GGUF is what the metadata of a GGUF file say of a model.
type GGUF struct{ Metadata map[string]any }

// cacheValue is the size of a key or value in the cache of llama.cpp, which is in float16 unless
// the user says otherwise.
const cacheValue = 2

// CountGGUF adds up the tensors of the headers of all files of one model.
func CountGGUF(headers ...gguf.Header) Weights {
	w := Weights{ByDType: map[string]int64{}}
	for _, h := range headers {
		for _, t := range h.Tensors {
			w.Elements = sum(w.Elements, t.Elements)
			w.Bytes = sum(w.Bytes, t.Bytes)
			w.ByDType[t.Type] = sum(w.ByDType[t.Type], t.Bytes)
		}
	}
	return w
}

// Architecture is that of llama.cpp; empty if the file names none.
func (g GGUF) Architecture() string {
	word, _ := g.Metadata["general.architecture"].(string)
	return word
}

// MaxTokens is the longest context of the model; 0 = the file does not say.
func (g GGUF) MaxTokens() int64 {
	n, _ := g.number("context_length")
	return n
}

// Cached reports whether the model keeps a cache of its context. Encoders keep none.
func (g GGUF) Cached() bool {
	causal, said := g.value("attention.causal").(bool)
	return causal || !said
}

// KVBytes is the size in bytes of the keys and values that llama.cpp keeps, in float16, of batch
// sequences of context tokens. known is false if the file lacks a size that it needs, and for
// layers of which it does not say what they keep: recurrent ones, latent attention (MLA), and
// windows of attention without the layers that have them. Nothing is guessed.
func (g GGUF) KVBytes(context, batch int64) (size int64, known bool) {
	layers, ok := g.number("block_count")
	if !ok || layers > maxLayers || context < 0 || batch < 0 || g.recurrent() || g.value("attention.kv_lora_rank") != nil {
		return 0, false
	}
	heads, ok := g.each("attention.head_count_kv", layers)
	if !ok {
		if heads, ok = g.each("attention.head_count", layers); !ok {
			return 0, false
		}
	}
	key, ok1 := g.headSize("attention.key_length")
	value, ok2 := g.headSize("attention.value_length")
	windows, ok3 := g.windows(layers, context)
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	for i := range layers {
		size = sum(size, product(batch, windows[i], heads[i], sum(key, value), cacheValue))
	}
	return size, true
}

// headSize is how many numbers a head keeps of a token.
func (g GGUF) headSize(field string) (int64, bool) {
	if n, ok := g.number(field); ok {
		return n, true
	}
	wide, ok := g.number("embedding_length")
	heads, err := g.number("attention.head_count")
	if !ok || !err {
		return 0, false
	}
	return wide / heads, true
}

// windows are how many tokens each layer keeps.
func (g GGUF) windows(layers, context int64) ([]int64, bool) {
	all := slices.Repeat([]int64{context}, int(layers))
	window, ok := g.number("attention.sliding_window")
	if !ok || window >= context {
		return all, true
	}
	slides, ok := g.value("attention.sliding_window_pattern").([]int64)
	if !ok || int64(len(slides)) != layers {
		return nil, false
	}
	for i, slide := range slides {
		if slide != 0 {
			all[i] = window
		}
	}
	return all, true
}

// recurrent reports whether layers keep a state instead of keys and values.
func (g GGUF) recurrent() bool {
	for key := range g.Metadata {
		if rest, ok := strings.CutPrefix(key, g.Architecture()+"."); ok && (strings.HasPrefix(rest, "ssm.") || strings.HasPrefix(rest, "wkv.") || strings.HasPrefix(rest, "shortconv.")) {
			return true
		}
	}
	return false
}

// each is a number of each layer: one for all of them, or a list.
func (g GGUF) each(field string, layers int64) ([]int64, bool) {
	switch v := g.value(field).(type) {
	case int64:
		return slices.Repeat([]int64{v}, int(layers)), v > 0 && v <= 1e9
	case []int64:
		return v, int64(len(v)) == layers && slices.Min(append([]int64{0}, v...)) >= 0
	}
	return nil, false
}

// value is a field of the architecture.
func (g GGUF) value(field string) any { return g.Metadata[g.Architecture()+"."+field] }

// number is a field from 1 to a billion.
func (g GGUF) number(field string) (int64, bool) {
	n, ok := g.value(field).(int64)
	return n, ok && n > 0 && n <= 1e9
}
