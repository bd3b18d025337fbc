package modelload_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/modelload"
)

// tensors is a file of safetensors.
func tensors(header string, size int) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + strings.Repeat("\x00", size)
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model é")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCheck(t *testing.T) {
	const header = `{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  `
	good := map[string]string{"config.json": "{}", "model.safetensors": tensors(header, 8)}
	adapter := map[string]string{"adapter_config.json": "{}", "adapter_model.safetensors": tensors(header, 8)}
	with := func(name, text string) map[string]string {
		all := maps.Clone(good)
		all[name] = text
		return all
	}
	beside := func(name, text string) map[string]string {
		all := maps.Clone(adapter)
		all[name] = text
		return all
	}
	parts := func(index string) map[string]string {
		return map[string]string{"config.json": "{}", "part.safetensors": tensors(header, 8), "model.safetensors.index.json": index}
	}
	for name, c := range map[string]struct {
		files   map[string]string
		adapter bool
		want    string // of the message and the hint; empty = nothing is wrong
	}{
		"a model":               {good, false, ""},
		"an adapter":            {adapter, true, ""},
		"weights of torch":      {map[string]string{"config.json": "{}", "pytorch_model.bin": "x"}, false, ""},
		"nothing":               {nil, false, "it has no config.json, so transformers cannot load it as a model; name the folder"},
		"an adapter as a model": {adapter, false, "it is a PEFT adapter and no whole model; set is_peft: true"},
		"a model as an adapter": {good, true, "it has no adapter_config.json, so it is not a PEFT adapter; remove is_peft"},
		"half a configuration":  {with("config.json", `{"a":`), false, "config.json is damaged: unexpected end of JSON input; fetch the model again"},
		"words of Python":       {with("config.json", `{"time_step_limit":[0.0,Infinity],"a":[-Infinity,NaN,1e400]}`), false, ""},
		"words of nobody":       {with("config.json", `{"a":[nan]}`), false, "config.json is damaged"},
		"a list":                {with("config.json", "[]"), false, "config.json is damaged"},
		"an empty file":         {with("model.safetensors", ""), false, "model.safetensors is damaged: it has 0 bytes"},
		"a pointer":             {with("model.safetensors", "version https://git-lfs.github.com/spec/v1\n"), false, "its header would have"},
		"cut":                   {with("model.safetensors", tensors(header, 4)), false, "its tensors need 8 bytes, and it has 4"},
		"longer":                {with("model.safetensors", tensors(header, 9)), false, "its tensors need 8 bytes, and it has 9"},
		"a cut header":          {with("model.safetensors", tensors(header, 0)[:20]), false, "its header would have"},
		"no header":             {with("model.safetensors", tensors("no JSON", 8)), false, "its header is not a JSON object"},
		"a tensor nowhere":      {with("model.safetensors", tensors(`{"w":{"data_offsets":[0]}}`, 8)), false, "its tensor \"w\" has no valid"},
		"a stranger is cut":     {with("other.safetensors", tensors(header, 1)), false, ""},
		"a part is cut":         {parts(`{"weight_map":{"w":"config.json"}}`), false, "config.json is damaged: it has 2 bytes"},
		"an index":              {parts(`{"weight_map":{"w":"part.safetensors"}}`), false, ""},
		"a part lacks":          {parts(`{"weight_map":{"a":"b","c":"b","w":"part.safetensors"}}`), false, "it lacks 1 of its files of weights: b; fetch"},
		"half an index":         {parts(`{`), false, "index.json is damaged"},
		"an old index":          {with("model.safetensors.index.json", `{"weight_map":{"a":"b"}}`), false, ""},
		"half an old index":     {with("model.safetensors.index.json", `{`), false, ""},
		"an old index, and cut": {map[string]string{"config.json": "{}", "model.safetensors": tensors(header, 4), "model.safetensors.index.json": "{"}, false, "model.safetensors is damaged"},
		"an adapter's index":    {beside("model.safetensors.index.json", `{"weight_map":{"a":"b"}}`), true, ""},
		"beside an adapter":     {beside("model.safetensors", ""), true, ""},
		"an adapter is cut":     {beside("adapter_model.safetensors", ""), true, "adapter_model.safetensors is damaged: it has 0 bytes"},
		"an adapter is left":    {with("adapter_model.safetensors", ""), false, ""},
	} {
		err := modelload.Check(folder(t, c.files), c.adapter)
		var fault *modelload.Fault
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &fault) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
}

func FuzzCheckTensors(f *testing.F) {
	f.Add([]byte(tensors(`{"w":{"data_offsets":[0,8]}}`, 8)))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Add([]byte(tensors(`{"w":{"data_offsets":[-1,1e400]}}`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := modelload.Check(folder(t, map[string]string{"config.json": "{}", "model.safetensors": string(data)}), false)
		if err == nil && len(data) < 8 {
			t.Errorf("%q is not a file of safetensors", data)
		}
	})
}
