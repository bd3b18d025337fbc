package safetensors_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/safetensors"
)

const header = `{"__metadata__":{"format":"pt","shape":"any","data_offsets":"any"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}`

func write(t *testing.T, length uint64, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, append(binary.LittleEndian.AppendUint64(nil, length), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	t.Parallel()
	text, size, err := safetensors.ReadFile(write(t, uint64(len(header)), header+strings.Repeat("w", 16)))
	if err != nil || string(text) != header || size != int64(8+len(header)+16) {
		t.Fatalf("%q, %d, %v", text, size, err)
	}
	h, err := safetensors.Parse(text)
	if err != nil || h.End != 16 || len(h.Tensors) != 2 || h.Tensors["a"].Elements() != 6 || h.Tensors["b"].Elements() != 1 || h.Tensors["a"].Bytes != 12 {
		t.Errorf("%+v, %v", h, err)
	}
	for name, path := range map[string]string{
		"longer than the file":   write(t, uint64(len(header))+17, header+strings.Repeat("w", 16)),
		"longer than any header": write(t, 1<<63, header),
	} {
		if text, _, err := safetensors.ReadFile(path); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := safetensors.ReadFile(short); err == nil || !strings.Contains(err.Error(), "it has 3 bytes") {
		t.Errorf("a short file: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `[]`, `{"a":7}`,
		`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`,
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`,
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, // bytes 0 to 3 belong to none
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`,
		`{"a":{"shape":[1],"data_offsets":[0,4]}}`,
	} {
		if h, err := safetensors.Parse([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, h)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(header))
	f.Add([]byte(`{"a":{"dtype":"F32","shape":[9223372036854775807,9],"data_offsets":[0,4]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := safetensors.Parse(text)
		if err != nil {
			return
		}
		for name, tensor := range h.Tensors {
			if tensor.Elements() < 0 || tensor.Bytes < 0 || tensor.Bytes > h.End {
				t.Errorf("%s: %+v of %d", name, tensor, h.End)
			}
		}
	})
}
