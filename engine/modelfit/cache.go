package modelfit

import "slices"

// maxLayers is more than any model has.
const maxLayers = 10_000

// state is the size of the numbers of a recurrent state, which is kept in float32.
const state = 4

// Cached reports whether a model of this architecture keeps a cache of its context. Encoders
// keep none.
func (c Config) Cached() bool {
	return !slices.Contains(encoders, c.Architecture()) || c.flag("is_decoder")
}

// encoders look at the whole of their input at once.
var encoders = []string{"albert", "bert", "camembert", "clip", "convnext", "deberta", "deberta-v2", "dinov2", "distilbert", "electra",
	"hubert", "layoutlm", "layoutlmv3", "longformer", "modernbert", "mpnet", "nomic_bert", "roberta", "siglip", "siglip2", "vit",
	"wav2vec2", "xlm-roberta"}

// KVBytes is the size in bytes of what transformers keeps of batch sequences of context tokens,
// with bytesPerValue bytes for each key and value: these, and the states of layers without
// attention. known is false if the architecture is not known, or if the file lacks a size that
// it needs: nothing is guessed. Windows of attention limit what their layers keep. Older
// releases of transformers than 5.23, which was measured, may keep more of a model with latent
// attention (MLA).
func (c Config) KVBytes(context, batch, bytesPerValue int64) (size int64, known bool) {
	m, ok := c.model()
	if !ok || context < 0 || batch < 0 || bytesPerValue < 0 {
		return 0, false
	}
	kinds, ok := m.kinds()
	if !ok {
		return 0, false
	}
	count := map[string]int64{}
	for _, kind := range kinds {
		count[kind]++
	}
	for kind, layers := range count {
		of, ok := m.layer(kind, context, bytesPerValue)
		if !ok {
			return 0, false
		}
		size = sum(size, product(layers, batch, of))
	}
	return size, true
}

// layer is what a layer of a kind keeps of one sequence, in bytes.
func (m model) layer(kind string, context, bytesPerValue int64) (int64, bool) {
	switch kind {
	case "none":
		return 0, true
	case "linear_attention", "conv":
		return m.states(kind, bytesPerValue)
	case "hybrid":
		states, ok1 := m.states(kind, bytesPerValue)
		keys, ok2 := m.layer("full_attention", context, bytesPerValue)
		return sum(states, keys), ok1 && ok2
	case "sliding_attention", "chunked_attention":
		field := map[string]string{"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}[kind]
		window, ok := m.number(field)
		if !ok {
			return 0, false
		}
		context = min(context, window)
	case "full_attention":
	default:
		return 0, false
	}
	values, ok := m.valuesPerToken()
	return product(context, values, bytesPerValue), ok
}

// valuesPerToken is how many numbers a layer with attention keeps of a token.
func (m model) valuesPerToken() (int64, bool) {
	if latent, ok := m.number("kv_lora_rank"); ok { // with one rotary key, for all heads
		rope, ok := m.number("qk_rope_head_dim")
		return sum(latent, rope), ok
	}
	heads, ok := m.number("num_attention_heads")
	if !ok {
		return 0, false
	}
	kv, ok := m.number("num_key_value_heads")
	if !ok {
		kv = heads
	}
	switch {
	case m.flag("new_decoder_architecture"): // Falcon 40B and later
		if kv, ok = m.number("num_kv_heads"); !ok {
			kv = heads
		}
	case m.flag("multi_query"):
		kv = 1
	}
	dim, ok := m.number("head_dim")
	if !ok {
		hidden, ok := m.number("hidden_size")
		if !ok {
			return 0, false
		}
		dim = hidden / heads
	}
	return product(2, kv, dim), true
}

// states is what a layer without attention keeps of a sequence, in bytes, however long it is:
// the last inputs of a convolution, and a recurrent state.
func (m model) states(kind string, bytesPerValue int64) (int64, bool) {
	if kind == "conv" {
		n, ok := m.numbers("hidden_size", "conv_L_cache")
		return product(n[0], n[1], bytesPerValue), ok
	}
	if n, ok := m.numbers("linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads", "linear_value_head_dim", "linear_conv_kernel_dim"); ok {
		channels := sum(product(2, n[0], n[1]), product(n[2], n[3]))
		return sum(product(channels, n[4], bytesPerValue), product(n[2], n[3], n[1], state)), true
	}
	if m.name == "mamba" || m.name == "falcon_mamba" || m.name == "jamba" {
		return m.mamba(bytesPerValue)
	}
	return m.mamba2(bytesPerValue)
}

// mamba is the state of a layer of the first Mamba.
func (m model) mamba(bytesPerValue int64) (int64, bool) {
	kernel, ok1 := m.either("conv_kernel", "mamba_d_conv")
	wide, ok2 := m.either("state_size", "mamba_d_state")
	inner, ok3 := m.inner()
	if n, ok := m.number("intermediate_size"); ok && m.name != "jamba" { // there it is that of the experts
		inner, ok3 = n, true
	}
	return sum(product(inner, kernel, bytesPerValue), product(inner, wide, state)), ok1 && ok2 && ok3
}

// mamba2 is the state of a layer of the second Mamba.
func (m model) mamba2(bytesPerValue int64) (int64, bool) {
	kernel, ok1 := m.either("conv_kernel", "mamba_d_conv")
	wide, ok2 := m.either("state_size", "mamba_d_state", "ssm_state_size")
	heads, ok3 := m.either("num_heads", "mamba_n_heads", "mamba_num_heads")
	groups, ok4 := m.either("n_groups", "mamba_n_groups")
	inner, ok5 := m.inner()
	dim, ok := m.either("mamba_d_head", "mamba_head_dim")
	if m.name == "mamba2" {
		dim, ok = m.number("head_dim")
	}
	if !ok && ok3 && ok5 {
		dim = inner / heads
	}
	if m.name != "mamba2" {
		inner = product(heads, dim)
	}
	channels := sum(inner, product(2, groups, wide))
	return sum(product(channels, kernel, bytesPerValue), product(heads, dim, wide, state)), ok1 && ok2 && ok3 && ok4 && ok5
}

// inner is the width of a layer of Mamba.
func (m model) inner() (int64, bool) {
	if n, ok := m.number("mamba_d_ssm"); ok {
		return n, true
	}
	expand, ok1 := m.either("expand", "mamba_expand")
	hidden, ok2 := m.number("hidden_size")
	return product(expand, hidden), ok1 && ok2
}
