package modelinfo

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/gguf"
	"github.com/seer-engine/seer/engine/modelfit"
)

// readGGUF looks at a folder without safetensors. found is false if it has no GGUF files.
func readGGUF(dir string, o Options) (info Info, found bool, err error) {
	models, err := ggufModels(dir)
	if err != nil || len(models) == 0 {
		return Info{}, false, err
	}
	if len(models) > 1 {
		names := slices.Sorted(maps.Keys(models))
		return Info{Unknown: fmt.Sprintf("it has %d GGUF models (%s, %s …); choose one with include", len(names), names[0], names[1])}, true, nil
	}
	for _, names := range models {
		info, err = oneGGUF(dir, names, o)
	}
	return info, true, err
}

// ggufModels are the models in GGUF of a folder; see [gguf.Models].
func ggufModels(dir string) (map[string][]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	return gguf.Models(names), err
}

func oneGGUF(dir string, names []string, o Options) (Info, error) {
	var headers []gguf.Header
	for _, name := range names { // in order: the first file of several has the metadata
		h, err := gguf.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return Info{}, fmt.Errorf("%s: %w", name, err)
		}
		headers = append(headers, h)
	}
	about, weights := modelfit.GGUF{Metadata: headers[0].Metadata}, modelfit.CountGGUF(headers...)
	info := Info{Architecture: about.Architecture(), Elements: weights.Elements, WeightBytes: weights.Bytes}
	if most := mostOf(weights.ByDType); most != "" {
		info.Quantization = "gguf " + most
	}
	if about.Cached() {
		info.use(o, about.MaxTokens())
		info.CacheBytes, _ = about.KVBytes(info.CacheTokens, info.CacheBatch)
	}
	return info, nil
}

// mostOf is the type that has most of the bytes.
func mostOf(bytes map[string]int64) (most string) {
	for _, name := range slices.Sorted(maps.Keys(bytes)) {
		if most == "" || bytes[name] > bytes[most] {
			most = name
		}
	}
	return most
}
