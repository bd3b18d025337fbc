// Package modelinfo says what a model in a folder is, and what it needs of a GPU. It reads the
// configuration and the headers of safetensors and GGUF files; the weights themselves may be holes.
package modelinfo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/modelfit"
	"github.com/seer-engine/seer/engine/safetensors"
)

// The cache that Read computes unless [Options] say otherwise.
const (
	Tokens = 4096 // length of the context; the model's own limit, if that is shorter
	Batch  = 1    // sequences at once
)

// Options say how a model will be used.
type Options struct {
	DType   string // that it is loaded in; empty = as its configuration says
	Context int64  // tokens of each sequence; 0 = [Tokens]
	Batch   int64  // sequences at once; 0 = [Batch]
}

// Info is what is known of a model. What is not known is zero.
type Info struct {
	Architecture string `json:"architecture,omitempty"` // model_type of config.json
	DType        string `json:"dtype,omitempty"`        // that it is loaded in, such as bfloat16
	Quantization string `json:"quantization,omitempty"` // how its weights are packed, such as gptq
	Elements     int64  `json:"elements,omitempty"`     // of all tensors: the parameters, unless they are packed
	WeightBytes  int64  `json:"weight_bytes,omitempty"` // on the GPU, in DType
	// CacheBytes are the keys and values of CacheBatch sequences of CacheTokens. Zero with
	// CacheTokens = the architecture has a cache that Seer cannot compute; without CacheTokens =
	// it has none.
	CacheBytes  int64 `json:"cache_bytes,omitempty"`
	CacheTokens int64 `json:"cache_tokens,omitempty"`
	CacheBatch  int64 `json:"cache_batch,omitempty"`
	// CacheLimited says that the model's own limit is shorter than the context that was asked for.
	CacheLimited bool `json:"cache_limited,omitempty"`

	Adapter     bool   `json:"adapter,omitempty"`     // a PEFT adapter
	Base        string `json:"base,omitempty"`        // of an adapter: the model that it was trained on, as its configuration says
	NoTokenizer bool   `json:"no_tokenizer,omitzero"` // a language model without the files of one
	Unknown     string `json:"unknown,omitempty"`     // why WeightBytes is not known
}

// GPUBytes is what the weights and the cache need together; 0 = not known.
func (i Info) GPUBytes() int64 {
	if i.WeightBytes == 0 {
		return 0
	}
	return i.WeightBytes + i.CacheBytes
}

// Read looks at a folder. Of one that is no model, only Unknown is said.
func Read(dir string, o Options) (Info, error) {
	var info Info
	text, err := small(filepath.Join(dir, "adapter_config.json"))
	if err == nil {
		return readAdapter(dir, text)
	}
	names, err := parts(dir)
	if err != nil {
		return info, err
	}
	if len(names) == 0 {
		if info, found, err := readGGUF(dir, o); found || err != nil {
			return info, err
		}
	}
	if text, err = small(filepath.Join(dir, "config.json")); errors.Is(err, fs.ErrNotExist) {
		return Info{Unknown: "it has no config.json"}, nil
	}
	if err != nil {
		return info, err
	}
	config, err := modelfit.ParseConfig(text)
	if err != nil {
		return info, err
	}
	info.Architecture, info.DType, info.Quantization = config.Architecture(), cmp.Or(o.DType, config.DType()), config.Quantization()
	weights, err := count(dir, names)
	if err != nil {
		return info, err
	}
	if len(names) == 0 {
		info.Unknown = "it has no weights in safetensors or GGUF"
	}
	info.Elements, info.WeightBytes = weights.Elements, loaded(weights, info.DType)
	info.NoTokenizer = config.Words() && !hasTokenizer(dir)
	if config.Cached() {
		info.cache(config, o)
	}
	return info, nil
}

// cache computes what the model keeps of its context.
func (i *Info) cache(config modelfit.Config, o Options) {
	i.use(o, config.MaxTokens())
	if size, known := config.KVBytes(i.CacheTokens, i.CacheBatch, max(2, sizes[i.DType])); known {
		i.CacheBytes = size
	}
}

// use says what context the cache is computed for; most is the model's own limit, 0 = none known.
func (i *Info) use(o Options, most int64) {
	i.CacheTokens, i.CacheBatch = cmp.Or(o.Context, Tokens), cmp.Or(o.Batch, Batch)
	if most > 0 && most < i.CacheTokens {
		i.CacheTokens, i.CacheLimited = most, true
	}
}

func readAdapter(dir string, text []byte) (Info, error) {
	var config struct {
		Base string `json:"base_model_name_or_path"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return Info{}, fmt.Errorf("adapter_config.json: it cannot be read: %w; fetch the adapter again", err)
	}
	const weightsFile = "adapter_model.safetensors"
	info := Info{Adapter: true, Base: config.Base}
	if _, err := os.Stat(filepath.Join(dir, weightsFile)); err != nil {
		info.Unknown = "it has no " + weightsFile
		return info, nil
	}
	weights, err := count(dir, []string{weightsFile})
	info.Elements, info.WeightBytes = weights.Elements, weights.Bytes
	return info, err
}

// sizes are those of the data types, in bytes, as configurations name them.
var sizes = map[string]int64{"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}

// floats are those of the data types of safetensors that a model may be loaded in another one
// of. Quantized weights stay as they are.
var floats = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2}

// loaded is what weights take when they are loaded in a data type.
func loaded(w modelfit.Weights, dtype string) (bytes int64) {
	for stored, n := range w.ByDType {
		if from, to := floats[stored], sizes[dtype]; from > 0 && to > 0 {
			n = n / from * to
		}
		bytes += n
	}
	return bytes
}

// parts are the files of the weights that transformers would read; none = it has no safetensors.
func parts(dir string) ([]string, error) {
	const whole = "model.safetensors"
	if _, err := os.Stat(filepath.Join(dir, whole)); err == nil {
		return []string{whole}, nil
	}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	text, err := small(filepath.Join(dir, whole+".index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		return nil, fmt.Errorf("%s.index.json: it cannot be read: %w; fetch the model again", whole, err)
	}
	var names []string
	for _, name := range index.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// count adds up the headers of files.
func count(dir string, names []string) (modelfit.Weights, error) {
	var headers []safetensors.Header
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return modelfit.Weights{}, fmt.Errorf("the index of the weights names %q, which is not a file of the model", name)
		}
		header, err := readHeader(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("the index of the weights names it, and it is not among the files")
		}
		if err != nil {
			return modelfit.Weights{}, fmt.Errorf("%s: %w", name, err)
		}
		headers = append(headers, header)
	}
	return modelfit.Count(headers...), nil
}

func readHeader(path string) (safetensors.Header, error) {
	text, _, err := safetensors.ReadFile(path)
	if err != nil {
		return safetensors.Header{}, err
	}
	return safetensors.Parse(text)
}

// hasTokenizer reports whether a folder has one of the files that every tokenizer has.
func hasTokenizer(dir string) bool {
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// small reads a file of at most [modelfit.MaxConfig] bytes.
func small(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, modelfit.MaxConfig+1))
	if err == nil && len(text) > modelfit.MaxConfig {
		err = fmt.Errorf("%s has more than %d bytes", filepath.Base(path), modelfit.MaxConfig)
	}
	return text, err
}

// SameBase reports whether an adapter's configuration and an experiment mean the same base
// model. A folder says nothing about its name.
func SameBase(configured, wanted string) bool {
	return configured == "" || !strings.Contains(configured, "/") || strings.ContainsAny(configured[:1], "./~") ||
		strings.ContainsAny(wanted[:min(1, len(wanted))], "./~") || strings.EqualFold(configured, wanted)
}
