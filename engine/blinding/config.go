package blinding

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/pyjson"
)

// keysText lists the keys of configurations whose texts loading needs: parameters of the
// configurations of transformers and peft whose values are words, and what tokenizers
// have. Numbers need no list: they tell no name, and a model computes with them.
//
//go:embed keys.txt
var keysText string

// hiddenWord stands in the place of names in texts.
const hiddenWord = "hidden"

// telling are keys whose values say where a model comes from.
var telling = []string{"_name_or_path", "name_or_path", "base_model_name_or_path", "tokenizer_name_or_path", "_commit_hash", "model_card", "repo_id"}

// ownNames are the names that a model's configuration gives it.
func ownNames(path string) (names []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	strict, _ := pyjson.Strict(data)
	fields := map[string]any{}
	if json.Unmarshal(strict, &fields) != nil {
		return nil
	}
	for _, key := range telling {
		if name, ok := fields[key].(string); ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// json copies a JSON file without what tells the name.
func (m *maker) json(ctx context.Context, name, from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	c := &cleaner{maker: m, ctx: ctx, file: name}
	if kindOf(name, 0) == configuration {
		c.keys = map[string]bool{}
		for _, key := range strings.Fields(keysText) {
			c.keys[key] = true
		}
	}
	strict, back := pyjson.Strict(data)
	v, err := decode(strict)
	if err != nil {
		return cannot("%s is not JSON that could be changed: %v", name, err)
	}
	v, err = c.value("", v)
	if err != nil {
		return err
	}
	if !c.changed {
		return m.searched(ctx, m.names, name, from, to)
	}
	clean, err := encode(v)
	if err != nil {
		return err
	}
	clean = back(clean)
	if form, found := m.names.Find(ctx, clean); found {
		return cannot("%s has the name in it%s; take it out", name, form)
	}
	m.report.Changed = append(m.report.Changed, name)
	return os.WriteFile(to, clean, 0o644)
}

func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}

// cleaner takes what tells a name out of one file.
type cleaner struct {
	*maker
	ctx     context.Context
	file    string
	keys    map[string]bool // whose texts stay; nil = all that have no name in them
	changed bool
}

// value cleans a value, which is that of the key, or an item of its list.
func (c *cleaner) value(key string, v any) (any, error) {
	switch x := v.(type) {
	case map[string]any:
		return x, c.object(key, x)
	case []any:
		kept := x[:0]
		for _, item := range x {
			clean, err := c.value(key, item)
			if err != nil {
				return nil, err
			}
			if clean != nil || item == nil {
				kept = append(kept, clean)
			}
		}
		return kept, nil
	case string:
		return c.text(key, x)
	}
	return v, nil
}

func (c *cleaner) object(key string, x map[string]any) error {
	for name, item := range x {
		if slices.Contains(telling, name) || c.hasName(name) {
			c.drop(name)
			delete(x, name)
			continue
		}
		inner := name
		if key == "id2label" || key == "chat_template" || key == "extra_special_tokens" {
			inner = key // its own keys are numbers or names of parts
		}
		clean, err := c.value(inner, item)
		if err != nil {
			return err
		}
		if clean == nil && item != nil {
			c.drop(name)
			delete(x, name)
			continue
		}
		x[name] = clean
	}
	return nil
}

// text is what stays of a text: nil where nothing does.
func (c *cleaner) text(key, text string) (any, error) {
	token := strings.HasSuffix(key, "_token") || strings.HasSuffix(key, "_tokens") || key == "content"
	switch {
	case key == "chat_template" || key == "template":
		clean := c.prose.Replace(text, hiddenWord)
		c.changed = c.changed || clean != text
		return clean, nil
	case c.keys != nil && !c.keys[key] && !token:
		c.changed = true
		return nil, nil
	case !c.hasName(text):
		return text, nil
	case token:
		return nil, cannot("its token %q in %s has the name in it", text, c.file)
	}
	c.changed = true
	if c.keys != nil && key != "id2label" {
		return nil, nil
	}
	return hiddenWord, nil
}

func (c *cleaner) hasName(text string) bool {
	_, found := c.names.Find(c.ctx, []byte(text))
	return found
}

func (c *cleaner) drop(key string) {
	c.changed = true
	if c.hasName(key) {
		key = "a key with the name in it"
	}
	if at := c.file + ": " + key; !slices.Contains(telling, key) && !slices.Contains(c.report.Dropped, at) {
		c.report.Dropped = append(c.report.Dropped, at)
	}
}

// index copies the list of the parts of weights, and of what it says of them only their
// size.
func (m *maker) index(ctx context.Context, name, from, to string) error {
	var index struct {
		Metadata struct {
			Size json.Number `json:"total_size,omitempty"`
		} `json:"metadata"`
		Map map[string]string `json:"weight_map"`
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return cannot("%s is not an index of weights: %v", name, err)
	}
	clean, err := encode(index)
	if err != nil {
		return err
	}
	if _, found := m.names.Find(ctx, clean); found {
		return cannot("%s has the name in a tensor's or a file's; rename it", name)
	}
	m.report.Changed = append(m.report.Changed, name)
	return os.WriteFile(to, clean, 0o644)
}

// partsOfTokenizer are the keys of tokenizer.json that the tokenizers library reads.
var partsOfTokenizer = []string{"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"}

// vocabulary copies a vocabulary, in which ordinary words stand: only whole names are
// looked for in it, and the names' words in what else tokenizer.json says.
func (m *maker) vocabulary(ctx context.Context, name, from, to string) error {
	if strings.ToLower(name) != "tokenizer.json" {
		return m.searched(ctx, m.names.Whole(), name, from, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var parts, model map[string]json.RawMessage
	if json.Unmarshal(data, &parts) != nil || parts["model"] != nil && json.Unmarshal(parts["model"], &model) != nil {
		return cannot("%s is not a tokenizer that could be read", name)
	}
	rest, dropped := []byte(nil), false
	for key, part := range parts {
		switch {
		case !slices.Contains(partsOfTokenizer, key):
			delete(parts, key)
			dropped = true
			m.report.Dropped = append(m.report.Dropped, name+": "+key)
		case key != "model":
			rest = append(append(rest, part...), '\n')
		}
	}
	for key, part := range model {
		if key != "vocab" && key != "merges" {
			rest = append(append(append(rest, key...), part...), '\n')
		}
	}
	if _, found := m.names.Find(ctx, rest); found {
		return cannot("a token or a setting of %s has the name in it", name)
	}
	if !dropped {
		return m.searched(ctx, m.names.Whole(), name, from, to)
	}
	clean, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	if _, found := m.names.Whole().Find(ctx, clean); found {
		return cannot("the vocabulary of %s has the name in it", name)
	}
	m.report.Changed = append(m.report.Changed, name)
	return os.WriteFile(to, clean, 0o644)
}

// Architecture are the words of a model's configuration that tell its architecture, and
// stay: those of which its code is chosen.
func Architecture(dir string) (words []string) {
	data, err := os.ReadFile(dir + "/config.json")
	if err != nil {
		return nil // a model without one, such as an adapter
	}
	strict, _ := pyjson.Strict(data)
	v, err := decode(strict)
	if err != nil {
		return nil
	}
	collect("", v, func(key, text string) {
		switch key {
		case "model_type", "architectures", "rope_type", "rope_scaling.type":
			words = append(words, text)
		}
	})
	return words
}

func collect(key string, v any, use func(key, text string)) {
	switch x := v.(type) {
	case map[string]any:
		for name, item := range x {
			if key == "rope_scaling" && name == "type" {
				name = "rope_scaling.type"
			}
			collect(name, item, use)
		}
	case []any:
		for _, item := range x {
			collect(key, item, use)
		}
	case string:
		use(key, x)
	}
}
