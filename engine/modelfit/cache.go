package modelfit

import "slices"

// maxLayers is more than any model has.
const maxLayers = 10_000

// plain are the architectures with one key and one value for each key-value head and token
// in each layer.
var plain = []string{"llama", "mistral", "ministral", "mixtral", "gemma", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "phi", "phi3", "gpt2",
	"gpt_neox", "gptj", "opt", "olmo", "olmo2", "olmo3", "olmoe", "gpt_oss", "gemma2", "gemma3_text", "cohere", "cohere2", "granite", "stablelm", "starcoder2", "smollm3"}

// KVBytes is the size in bytes of the keys and values that transformers keeps of batch
// sequences of context tokens, with bytesPerValue bytes for each number. known is false if
// the architecture is not known, or if the file lacks a size that it needs: nothing is
// guessed. Windows of attention limit what their layers keep. Older releases of transformers
// than 5.23, which was measured, may keep more of a model with latent attention (MLA).
func (c Config) KVBytes(context, batch, bytesPerValue int64) (size int64, known bool) {
	t := c.text()
	layers, ok := t.number("num_hidden_layers", "n_layer")
	if !ok || layers > maxLayers || context < 0 || batch < 0 || bytesPerValue < 0 {
		return 0, false
	}
	perToken, ok := t.valuesPerToken()
	if !ok {
		return 0, false
	}
	for i := range layers {
		window, ok := t.window(i, layers)
		if !ok {
			return 0, false
		}
		tokens := context
		if window > 0 {
			tokens = min(tokens, window)
		}
		size = sum(size, product(tokens, perToken, batch, bytesPerValue))
	}
	return size, true
}

// valuesPerToken is how many numbers a layer keeps of a token.
func (c Config) valuesPerToken() (int64, bool) {
	kind := c.Architecture()
	heads, ok := c.number("num_attention_heads", "n_head")
	switch {
	case !ok:
		return 0, false
	case kind == "deepseek_v2" || kind == "deepseek_v3": // the latent and one rotary key, for all heads
		latent, ok1 := c.number("kv_lora_rank")
		rope, ok2 := c.number("qk_rope_head_dim")
		if !ok1 || !ok2 {
			return 0, false
		}
		return latent + rope, true
	case !slices.Contains(plain, kind):
		return 0, false
	}
	kv, ok := c.number("num_key_value_heads")
	if !ok {
		if kv = heads; !slices.Contains(ownHeads, kind) {
			return 0, false
		}
	}
	dim, ok := c.number("head_dim")
	if !ok {
		hidden, ok := c.number("hidden_size", "n_embd")
		if !ok || slices.Contains(ownDim, kind) {
			return 0, false
		}
		dim = hidden / heads
	}
	return product(2, kv, dim), true
}

// ownHeads have as many key-value heads as heads, where the file names no number.
var ownHeads = []string{"gpt2", "gpt_neox", "gptj", "opt", "llama", "phi"}

// ownDim have a head size that does not follow from the other sizes.
var ownDim = []string{"gemma", "gemma2", "gemma3_text", "qwen3", "qwen3_moe", "gpt_oss"}

// every is the default distance from one layer that sees the whole context to the next.
var every = map[string]int64{"gemma2": 2, "gemma3_text": 6, "cohere2": 4, "gpt_oss": 2, "olmo3": 4}

// window is how many tokens a layer keeps; 0 = all.
func (c Config) window(layer, layers int64) (tokens int64, known bool) {
	window, limited := c.number("sliding_window")
	if kinds := c.words("layer_types"); len(kinds) > 0 {
		if int64(len(kinds)) != layers {
			return 0, false
		}
		switch kinds[layer] {
		case "full_attention":
			return 0, true
		case "sliding_attention":
			return window, limited
		}
		return 0, false
	}
	kind := c.Architecture()
	if distance, ok := every[kind]; ok {
		if set, ok := c.number("sliding_window_pattern"); ok {
			distance = set
		}
		if (layer+1)%distance == 0 {
			return 0, true
		}
		return window, limited
	}
	switch kind {
	case "mistral", "mixtral", "phi3", "starcoder2":
		return window, true
	case "qwen2", "qwen2_moe", "qwen3", "qwen3_moe":
		if c.flag("use_sliding_window") {
			first, ok := c.number("max_window_layers")
			if ok && layer < first {
				return 0, true
			}
			return window, ok && limited
		}
	}
	return 0, true
}
