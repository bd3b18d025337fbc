package modelfit

import (
	"bytes"
	"encoding/json"
	"fmt"

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
		if n, ok := c.fields[key].(json.Number); ok {
			if value, err := n.Int64(); err == nil && value > 0 && value <= 1e9 {
				return value, true
			}
		}
	}
	return 0, false
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
	n, _ := c.text().number("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
	return n
}
