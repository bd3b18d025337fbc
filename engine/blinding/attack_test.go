package blinding

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/internal/attack"
)

const hiddenName = "acme/zephyr-quasar-9b"

// looked is what an attacker gets: an error that says that nothing was there, or nil.
func looked(blinded string, what string, is func(data []byte) bool) error {
	found := false
	err := filepath.WalkDir(blinded, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || is(data)
		return err
	})
	if err != nil {
		return err
	}
	if found {
		return nil
	}
	return fmt.Errorf("%s is not in the blinded folder", what)
}

// has reports whether one of the name's own words stands in data.
func has(data []byte) bool {
	lower := bytes.ToLower(data)
	return bytes.Contains(lower, []byte("zephyr")) || bytes.Contains(lower, []byte("quasar")) || bytes.Contains(lower, []byte("acme"))
}

// model makes a model's folder with one file more, or another one.
func model(t *testing.T, file, text string) string {
	t.Helper()
	dir := t.TempDir()
	header := `{"__metadata__":{"format":"pt"},"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`
	files := map[string]string{
		"config.json":       `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8}`,
		"model.safetensors": tensors(header, "four"),
	}
	files[file] = text
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tensors(header, data string) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + data
}

// blindedCopy blinds a folder; without the defence nothing is looked for.
func blindedCopy(t *testing.T, src string, defended bool) (string, error) {
	t.Helper()
	m := &maker{src: src, dst: filepath.Join(t.TempDir(), "m"), sameTimes: defended}
	if defended {
		m.names = namesearch.Compile(namesearch.Spec{Names: []string{hiddenName}, Stay: Architecture(src)})
		m.prose = prose(src, m.names)
	} else {
		m.plain = true
	}
	_, err := m.make(context.Background())
	return m.dst, err
}

// TestAttacks looks for a name in a blinded folder, in each of the places where published
// models have it.
func TestAttacks(t *testing.T) {
	leak := func(file, text string) func(t *testing.T, defended bool) error {
		return func(t *testing.T, defended bool) error {
			dir, err := blindedCopy(t, model(t, file, text), defended)
			if err != nil {
				return err
			}
			return looked(dir, "the name", has)
		}
	}
	const gone, refused = "is not in the blinded folder", "the model cannot be hidden"
	attack.Run(t, []attack.Row{
		{Name: "hidden-name-in-own-config-key", Want: gone, Try: leak("config.json", `{"model_type": "llama", "family": "zephyr-quasar", "about": {"by": ["ZephyrQuasar 9B by acme"]}}`)},
		{Name: "hidden-name-in-key-of-config", Want: gone, Try: leak("config.json", `{"model_type": "llama", "zephyr_layers": 12}`)},
		{Name: "hidden-name-escaped-in-config", Want: gone, Try: leakEscaped},
		{Name: "hidden-name-in-chat-template", Want: gone, Try: leak("tokenizer_config.json", `{"chat_template": "{{ 'You are Zephyr Quasar, made by Acme.' }}{% set zephyr_x = 1 %}"}`)},
		{Name: "hidden-name-in-jinja-file", Want: gone, Try: leak("chat_template.jinja", "You are ZephyrQuasar.")},
		{Name: "hidden-name-in-adapter-config", Want: gone, Try: leak("adapter_config.json", `{"peft_type": "LORA", "base_model_name_or_path": "acme/zephyr", "revision": "quasar"}`)},
		{Name: "hidden-name-in-safetensors-metadata", Want: gone,
			Try: leak("model.safetensors", tensors(`{"__metadata__":{"format":"pt","run":"zephyr sweep"},"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, "four"))},
		{Name: "hidden-name-in-index-metadata", Want: gone, Try: leak("model.safetensors.index.json", `{"metadata": {"total_size": 4, "by": "acme"}, "weight_map": {"w": "model.safetensors"}}`)},
		{Name: "hidden-name-in-tokenizer-comment", Want: gone, Try: leak("tokenizer.json", `{"version": "1.0", "comment": "zephyr", "model": {"vocab": {"a": 0}}}`)},
		{Name: "hidden-name-in-training-files", Want: gone, Try: leak("trainer_state.json", `{"best_model_checkpoint": "/out/zephyr/checkpoint-5"}`)},
		{Name: "hidden-name-in-model-card", Want: gone, Try: leak("README.md", "# Zephyr Quasar")},
		{Name: "hidden-name-in-gguf", Want: refused, Try: leak("model.gguf", "GGUF\x03\x00general.name\x08\x00\x00\x00Zephyr Quasar 9B")},
		{Name: "hidden-name-in-pickle", Want: refused, Try: leak("pytorch_model.bin", "\x80\x02}q\x00X\x06\x00\x00\x00zephyrq\x01.")},
		{Name: "hidden-name-in-model-code", Want: refused, Try: leak("modeling.py", "class ZephyrAttention: pass")},
		{Name: "hidden-name-after-tensors", Want: "is not that of its tensors",
			Try: leak("model.safetensors", tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, "fourzephyr"))},
		{Name: "hidden-model-by-file-times", Want: "the times are those of all blinded models", Try: times},
	})
}

func leakEscaped(t *testing.T, defended bool) error {
	dir, err := blindedCopy(t, model(t, "config.json", `{"model_type": "llama", "hidden_act": "\u007aephyr", "loss_type": "emVwaHlyLXF1YXNhcg=="}`), defended)
	if err != nil {
		return err
	}
	return looked(dir, "the name", func(data []byte) bool {
		return has(data) || bytes.Contains(data, []byte(`\u007aephyr`)) || bytes.Contains(data, []byte("emVwaHly"))
	})
}

// times recognizes a model by the times of its files, to the nanosecond.
func times(t *testing.T, defended bool) error {
	src := model(t, "vocab.txt", "a")
	when := time.Unix(1700000000, 123456789)
	file := filepath.Join(src, "vocab.txt")
	if err := os.Chtimes(file, when, when); err != nil {
		t.Fatal(err)
	}
	dir, err := blindedCopy(t, src, defended)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if info.ModTime().Equal(Epoch) {
		return errors.New("the times are those of all blinded models")
	}
	return nil
}

// Names in parts that loading needs, and that no copy can do without, stay: the rest of
// the row is what docs/sessions.md promises.
func TestWhatStays(t *testing.T) {
	src := model(t, "config.json", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "torch_dtype": "bfloat16",
		"rope_scaling": {"type": "yarn", "factor": 4.0}, "quantization_config": {"quant_method": "gptq", "modules_to_not_convert": ["lm_head"]}, "transformers_version": "4.47.1"}`)
	dir, err := blindedCopy(t, src, true)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	for _, want := range []string{"LlamaForCausalLM", "silu", "bfloat16", "yarn", "gptq", "lm_head", "4.0"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s, %v", want, data, err)
		}
	}
	if strings.Contains(string(data), "4.47.1") {
		t.Errorf("the version of transformers stays: %s", data)
	}
}
