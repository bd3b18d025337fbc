package modelfit

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// architectures.json is written by testdata/measure.py, from the classes of transformers.
//
//go:embed architectures.json
var architecturesText []byte

// architecture is what transformers assumes where a config.json says nothing.
type architecture struct {
	Defaults map[string]any    // of fields
	Names    map[string]string // that files have for fields
	Kind     string            // of the layers; empty = it follows from the windows
	Every    int64             // one of so many layers sees the whole context instead; 0 = none
	First    int64             // of these layers
	Text     string            // of a model with several parts: the architecture of its text model
}

var architectures = sync.OnceValue(func() map[string]architecture {
	d := json.NewDecoder(bytes.NewReader(architecturesText))
	d.UseNumber()
	all := map[string]architecture{}
	if err := d.Decode(&all); err != nil {
		panic("modelfit: architectures.json: " + err.Error()) // a test reads it
	}
	return all
})

// Architectures are the names of those that are known.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures())) }

// model is the language model of a configuration whose architecture is known.
type model struct {
	Config
	name string
	architecture
}

func (c Config) model() (model, bool) {
	t := c.text()
	outer, ok := architectures()[c.Architecture()]
	if !ok { // also of a known text model: what is around it may keep more
		return model{}, false
	}
	name := t.Architecture()
	if outer.Text != "" && (name == "" || name == c.Architecture()) { // the fields may lie in the outer file, as in older ones
		name = outer.Text
	}
	known, ok := architectures()[name]
	return model{t, name, known}, ok && known.Text == ""
}

// value is what a file, or else the class of transformers, says of a field.
func (m model) value(field string) any {
	for _, key := range []string{m.Names[field], field} {
		if value, ok := m.fields[key]; ok && key != "" {
			return value // null is an answer, too
		}
	}
	return m.Defaults[field]
}

func (m model) number(field string) (int64, bool) { return positive(m.value(field)) }

func (m model) flag(field string) bool {
	set, _ := m.value(field).(bool)
	return set
}

// numbers are several fields; false if one of them is missing.
func (m model) numbers(fields ...string) ([]int64, bool) {
	all, good := make([]int64, len(fields)), true
	for i, field := range fields {
		n, ok := m.number(field)
		all[i], good = n, good && ok
	}
	return all, good
}

// either is the first of several fields that is there.
func (m model) either(fields ...string) (int64, bool) {
	for _, field := range fields {
		if n, ok := m.number(field); ok {
			return n, true
		}
	}
	return 0, false
}

// kinds are those of all layers, in the newest words of transformers; "none" keeps nothing.
func (m model) kinds() ([]string, bool) {
	layers, counted := m.number("num_hidden_layers")
	if counted && layers > maxLayers {
		return nil, false
	}
	if listed := m.listed(); len(listed) > 0 {
		return listed, len(listed) <= maxLayers && (!counted || int64(len(listed)) == layers)
	}
	if !counted {
		return nil, false
	}
	kinds := make([]string, layers)
	for i := range kinds {
		kinds[i] = m.kind(int64(i))
	}
	return kinds, true
}

// renamed are words of older files.
var renamed = map[string]string{"mamba": "linear_attention", "attention": "full_attention", "moe": "none", "mlp": "none",
	"M": "linear_attention", "*": "full_attention", "-": "none", "E": "none"}

// listed are the kinds that a file lists; empty = it lists none.
func (m model) listed() []string {
	kinds := m.words("layer_types")
	if len(kinds) == 0 {
		kinds = m.words("layers_block_type")
	}
	if pattern := m.word("hybrid_override_pattern"); len(kinds) == 0 {
		for _, letter := range pattern {
			kinds = append(kinds, string(letter))
		}
	}
	for i, kind := range kinds {
		if now := renamed[kind]; now != "" {
			kinds[i] = now
		}
	}
	return kinds
}

// kind is that of a layer which the file does not list.
func (m model) kind(layer int64) string {
	const full = "full_attention"
	if at, ok := m.fields["attn_layer_indices"].([]any); ok {
		if slices.ContainsFunc(at, func(one any) bool { n, ok := index(one); return ok && n == layer }) {
			return full
		}
		return m.Kind
	}
	every, first := m.Every, m.First
	if n, ok := m.either("sliding_window_pattern", "full_attention_interval"); ok && every > 0 {
		every, first = n, n-1
	}
	if n, ok := m.number("attn_layer_period"); ok {
		every, first = n, 0
		if offset, ok := m.number("attn_layer_offset"); ok {
			first = offset
		}
	}
	_, windowed := m.number("sliding_window")
	_, chunked := m.number("attention_chunk_size")
	_, switched := m.Defaults["use_sliding_window"]
	from, _ := m.number("max_window_layers")
	switch {
	case every > 0 && layer%every == first%every:
		return full
	case switched && (!m.flag("use_sliding_window") || !windowed || layer < from):
		return full
	case switched:
		return "sliding_attention"
	case m.Kind != "":
		return m.Kind
	case windowed:
		return "sliding_attention"
	case chunked:
		return "chunked_attention"
	}
	return full
}
