package modelfit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seer-engine/seer/engine/pyjson"
)

// MaxConfig is the size in bytes of the largest config.json that is read.
const MaxConfig = 16 << 20

// Config is a parsed config.json.
type Config struct{ fields map[string]any }

// ParseConfig reads a config.json.
func ParseConfig(text []byte) (Config, error) {
	if len(text) > MaxConfig {
		return Config{}, fmt.Errorf("config.json: it has %d bytes, more than %d", len(text), MaxConfig)
	}
	text, _ = pyjson.Strict(text)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		return Config{}, fmt.Errorf("config.json: it is not a JSON object: %w; fetch the model again", err)
	}
	return Config{fields}, nil
}

// Architecture is the model_type; empty if the file names none.
func (c Config) Architecture() string { return c.word("model_type") }

// DType is the data type that the model is loaded in unless the user names another one, such
// as bfloat16; empty if the file names none.
func (c Config) DType() string {
	for _, at := range []Config{c, c.text()} {
		for _, key := range []string{"dtype", "torch_dtype"} {
			if word := at.word(key); word != "" {
				return word
			}
		}
	}
	return ""
}

// Quantization is how the weights are packed, such as gptq; empty = they are not, or the file
// does not say.
func (c Config) Quantization() string {
	for _, at := range []Config{c, c.text()} {
		if packed, ok := at.fields["quantization_config"].(map[string]any); ok {
			method, _ := packed["quant_method"].(string)
			if method == "" {
				method = "in an unnamed way"
			}
			return method
		}
	}
	return ""
}

// Words reports whether the model reads or writes words, so that it needs a tokenizer.
func (c Config) Words() bool {
	return c.Architecture() != "" && !slices.Contains(wordless, c.Architecture())
}

var wordless = []string{"convnext", "convnextv2", "dinov2", "dinov3_vit", "hubert", "resnet", "swin", "vit", "vit_mae", "wav2vec2", "wavlm"}

// text is the language model of a model with several parts, else the config itself.
func (c Config) text() Config {
	for _, key := range []string{"text_config", "language_config", "llm_config"} {
		if inner, ok := c.fields[key].(map[string]any); ok {
			return Config{inner}
		}
	}
	return c
}

func (c Config) word(key string) string {
	word, _ := c.fields[key].(string)
	return word
}

func (c Config) flag(key string) bool {
	set, _ := c.fields[key].(bool)
	return set
}

// number is the first of several fields that is a number from 1 to a billion.
func (c Config) number(keys ...string) (int64, bool) {
	for _, key := range keys {
		if n, ok := positive(c.fields[key]); ok {
			return n, true
		}
	}
	return 0, false
}

// positive is a number from 1 to a billion.
func positive(value any) (int64, bool) {
	n, ok := index(value)
	return n, ok && n > 0
}

// index is a number from 0 to a billion.
func index(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := number.Int64()
	return n, err == nil && n >= 0 && n <= 1e9
}

func (c Config) words(key string) []string {
	list, _ := c.fields[key].([]any)
	var words []string
	for _, one := range list {
		word, _ := one.(string)
		words = append(words, word)
	}
	return words
}

// MaxTokens is the longest context of the model, as its configuration says; 0 = it does not.
func (c Config) MaxTokens() int64 {
	if m, ok := c.model(); ok {
		if n, ok := m.number("max_position_embeddings"); ok {
			return n
		}
	}
	n, _ := c.text().number("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
	return n
}
