package modelload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/pyjson"
	"github.com/seer-engine/seer/engine/safetensors"
)

// Fault is a reason for which a folder cannot be loaded.
type Fault struct {
	Message string // what is wrong
	Hint    string // what to do
}

func (f *Fault) Error() string { return f.Message + "; " + f.Hint }

const (
	modelConfig    = "config.json"
	adapterConfig  = "adapter_config.json"
	weightsIndex   = "model.safetensors.index.json"
	modelWeights   = "model.safetensors"
	adapterWeights = "adapter_model.safetensors"
	again          = "fetch the model again"
)

// Check looks whether the files of a model, or of an adapter, can be what they say,
// without any library: before a machine is had. What is wrong is a [*Fault].
func Check(dir string, adapter bool) error {
	config, other := modelConfig, adapterConfig
	if adapter {
		config, other = adapterConfig, modelConfig
	}
	switch {
	case isFile(filepath.Join(dir, config)):
	case adapter:
		return &Fault{"it has no " + config + ", so it is not a PEFT adapter", "remove is_peft and base_model, or name the adapter's folder"}
	case isFile(filepath.Join(dir, other)):
		return &Fault{"it is a PEFT adapter and no whole model", "set is_peft: true, and base_model to the model that it was trained on"}
	default:
		return &Fault{"it has no " + config + ", so transformers cannot load it as a model", "name the folder that has it, or set workspace.preload_models: false and load it in your own way"}
	}
	var fields map[string]json.RawMessage
	if err := readJSON(filepath.Join(dir, config), &fields); err != nil {
		return damaged(config, err)
	}
	return checkWeights(dir, adapter)
}

// Reads reports whether [Check] reads all of a file, by its path in the folder. Of files of
// safetensors it reads the header.
func Reads(path string) bool {
	return path == modelConfig || path == adapterConfig || path == weightsIndex
}

func damaged(name string, err error) error {
	return &Fault{fmt.Sprintf("its file %s is damaged: %v", name, err), again}
}

// checkWeights looks at the files of safetensors that transformers and peft would read:
// for one file of a whole model there may still be an index of its parts, which nobody
// reads then.
func checkWeights(dir string, adapter bool) error {
	var names []string
	switch there := isFile(filepath.Join(dir, modelWeights)); {
	case adapter:
	case there:
		names = []string{modelWeights}
	default:
		parts, err := partsOf(dir)
		if err != nil {
			return err
		}
		names = parts
	}
	if isFile(filepath.Join(dir, adapterWeights)) && isFile(filepath.Join(dir, adapterConfig)) {
		names = append(names, adapterWeights)
	}
	for _, name := range names {
		if err := checkTensors(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return damaged(name, err)
		}
	}
	return nil
}

// partsOf are the files that an index names, which are all there.
func partsOf(dir string) ([]string, error) {
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := readJSON(filepath.Join(dir, weightsIndex), &index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(weightsIndex, err)
	}
	names := slices.Compact(slices.Sorted(maps.Values(index.Files)))
	there := func(name string) bool { return isFile(filepath.Join(dir, filepath.FromSlash(name))) }
	if missing := slices.DeleteFunc(slices.Clone(names), there); len(missing) > 0 {
		return nil, &Fault{fmt.Sprintf("it lacks %d of its files of weights: %s", len(missing), strings.Join(missing[:min(3, len(missing))], ", ")), again}
	}
	return names, nil
}

// checkTensors compares what the header of a file of safetensors tells with its size.
func checkTensors(path string) error {
	text, size, err := safetensors.ReadFile(path)
	if err != nil {
		return err
	}
	header, err := safetensors.Parse(text)
	if err != nil {
		return err
	}
	if there := size - safetensors.LengthBytes - int64(len(text)); header.End != there {
		return fmt.Errorf("its tensors need %d bytes, and it has %d", header.End, there)
	}
	return nil
}

func readJSON(path string, to any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data, _ = pyjson.Strict(data)
	return json.Unmarshal(data, to)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
