package blinding_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

const name = "acme/Great-Model-7b"

func names() namesearch.Names { return namesearch.Compile(namesearch.Spec{Names: []string{name}}) }

func safetensors(header map[string]any, tensors string) string {
	text, _ := json.Marshal(header)
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, uint64(len(text)))
	b.Write(text)
	b.WriteString(tensors)
	return b.String()
}

func TestMake(t *testing.T) {
	src := testkit.WriteFiles(t, t.TempDir(), map[string]string{
		"config.json":             `{"_name_or_path": "acme/great-model-7b", "model_type": "llama", "n": 1e-05, "big": 12345678901234567890, "note": "from GREAT_MODEL_7B", "rope_scaling": {"rope_type": "llama3", "x": 8.0}, "id2label": {"0": "yes", "1": "acme"}}`,
		"tokenizer.json":          `{"version": "1.0", "model": {"vocab": {"a": 0}}}`,
		"vocab.txt":               "a\nb\n",
		"model.safetensors":       safetensors(map[string]any{"__metadata__": map[string]string{"source": "hub:acme/great-model-7b", "format": "pt"}, "w": map[string]any{"dtype": "U8", "shape": []int{4}, "data_offsets": []int{0, 4}}}, "\x01\x02\x03\x04"),
		"more/w.safetensors":      safetensors(map[string]any{"w": map[string]any{"dtype": "U8", "shape": []int{1}, "data_offsets": []int{0, 1}}}, "\x07"),
		"README.md":               "# Great-Model-7b",
		"LICENSE":                 "of acme/great-model-7b",
		".cache/trail":            "acme/great-model-7b",
		"tokenizer_config.json":   `{"name_or_path": "/home/me/great-model-7b"}`,
		"generation_config.json":  `{"temperature": 0.5}`,
		"special_tokens_map.json": `{}`,
	})
	dst := filepath.Join(t.TempDir(), "m")
	report, err := blinding.Make(context.Background(), src, dst, names())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(report.Changed)
	slices.Sort(report.Left)
	slices.Sort(report.Dropped)
	if want := []string{"config.json: note"}; !slices.Equal(report.Dropped, want) {
		t.Errorf("dropped %q", report.Dropped)
	}
	if want := []string{"config.json", "model.safetensors", "tokenizer_config.json"}; !slices.Equal(report.Changed, want) {
		t.Errorf("changed %q", report.Changed)
	}
	if want := []string{".cache", "LICENSE", "README.md"}; !slices.Equal(report.Left, want) {
		t.Errorf("left out %q", report.Left)
	}
	err = filepath.Walk(dst, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		_, found, err := names().FindIn(context.Background(), path)
		if found {
			t.Errorf("the name is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	config, err := os.ReadFile(filepath.Join(dst, "config.json"))
	if err != nil || !strings.Contains(string(config), "12345678901234567890") || !strings.Contains(string(config), `"llama"`) ||
		!strings.Contains(string(config), `"llama3"`) || !strings.Contains(string(config), `"yes"`) || strings.Contains(string(config), "note") {
		t.Errorf("config.json: %s, %v", config, err)
	}
	before, _ := os.ReadFile(filepath.Join(src, "model.safetensors"))
	after, err := os.ReadFile(filepath.Join(dst, "model.safetensors"))
	if err != nil || len(before) != len(after) || !bytes.HasSuffix(after, []byte("\x01\x02\x03\x04")) {
		t.Errorf("tensors: %q, %v", after, err)
	}
}

// Python's words for numbers that are none stay as Python reads them.
func TestWordsOfPython(t *testing.T) {
	src := testkit.WriteFiles(t, t.TempDir(), map[string]string{"config.json": `{"_name_or_path": "acme/great-model-7b", "time_step_limit": [0.0, Infinity, -Infinity, NaN], "mode": "NaN"}`})
	dst := filepath.Join(t.TempDir(), "m")
	if _, err := blinding.Make(context.Background(), src, dst, names()); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dst, "config.json"))
	if got, want := strings.Join(strings.Fields(string(config)), ""), `{"mode":"NaN","time_step_limit":[0.0,Infinity,-Infinity,NaN]}`; got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWhatCannotBeHidden(t *testing.T) {
	for file, text := range map[string]string{
		"great-model-7b.gguf":          "x",
		"acme.bin":                     "x",
		"model.gguf":                   "GGUF\x03\x00\x00\x00general.name\x08\x00\x00\x00acme great",
		"pytorch_model.bin":            testkit.Zip("great_model_7b/data.pkl", "x"),
		"tf_model.h5":                  "x" + base64.StdEncoding.EncodeToString([]byte("by acme, the best")),
		"modeling.py":                  "# Copyright acme",
		"vocab.txt":                    "a\ngreat-model-7b\nb",
		"tokenizer.json":               `{"model": {"vocab": {"a": 0}}, "added_tokens": [{"content": "<|acme|>"}]}`,
		"special_tokens_map.json":      `{"bos_token": {"content": "<|acme|>"}}`,
		"model.safetensors.index.json": `{"weight_map": {"acme.w": "a"}}`,
		"gap.safetensors":              safetensors(map[string]any{"w": map[string]any{"dtype": "U8", "shape": []int{1}, "data_offsets": []int{4, 5}}}, "acmex"),
		"tail.safetensors":             safetensors(map[string]any{"w": map[string]any{"dtype": "U8", "shape": []int{1}, "data_offsets": []int{0, 1}}}, "xacme"),
		"weights.bin":                  strings.Repeat("x", 3<<20) + "acme_great_model_7b" + strings.Repeat("y", 100),
		"tokenizer_config.json":        `{"broken": "great-model-7b"`,
		"model.safetensors":            safetensors(map[string]any{"great.model.7b.weight": map[string]any{}}, ""),
		"cut.safetensors":              "\x05\x00",
		"odd.safetensors":              "\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		dst := filepath.Join(t.TempDir(), "m")
		_, err := blinding.Make(context.Background(), testkit.WriteFiles(t, t.TempDir(), map[string]string{file: text, "ok.json": "{}"}), dst, names())
		if code := sdk.CodeOf(err); code != sdk.Unsupported && code != sdk.Invalid || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := os.Stat(dst); !os.IsNotExist(err) {
			t.Errorf("%s: the half of it is left", file)
		}
	}
}

func TestNothingToLoad(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "m")
	if _, err := blinding.Make(context.Background(), testkit.WriteFiles(t, t.TempDir(), map[string]string{"README.md": "x"}), dst, names()); sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dst := filepath.Join(t.TempDir(), "m")
	if _, err := blinding.Make(ctx, testkit.WriteFiles(t, t.TempDir(), map[string]string{"a.bin": "x"}), dst, names()); err == nil {
		t.Error("it went on")
	}
	if _, err := os.Stat(dst); !os.IsNotExist(err) {
		t.Error("the half of it is left")
	}
}

func FuzzClean(f *testing.F) {
	f.Add(`{"_name_or_path": "acme/great-model-7b", "a": ["great model 7B", 1.5, null]}`)
	f.Add(`"great-model-7b"`)
	f.Add(`[NaN, {"great-model-7b": "x"}, "great-model-7b", -Infinity]`)
	f.Add(`[{"x": {"name_or_path": {}}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "c.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		dst := filepath.Join(t.TempDir(), "m")
		if _, err := blinding.Make(context.Background(), dir, dst, names()); err != nil {
			return
		}
		if _, found, err := names().FindIn(context.Background(), filepath.Join(dst, "c.json")); found || err != nil {
			t.Errorf("%q: %v, %v", text, found, err)
		}
	})
}
