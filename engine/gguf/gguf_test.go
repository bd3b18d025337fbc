package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/gguf"
	"github.com/seer-engine/seer/internal/testkit"
)

// small is a file with everything that metadata can have, and tensors of three types.
func small() []byte {
	return testkit.GGUF(map[string]any{
		"general.architecture": "llama", "llama.block_count": uint32(2), "llama.attention.causal": true,
		"llama.layers": []uint32{3, 0}, "llama.pattern": []bool{true, false}, "tokenizer.ggml.tokens": []string{"a", "bc", ""},
		"tokenizer.ggml.scores": make([]uint32, 10_001),
	}, map[string]testkit.GGUFTensor{
		"a": of(0, 8, 4), "b": of(12, 256, 3), "c": of(2, 64), "empty": of(1, 0, 7),
	})
}

func of(kind uint32, shape ...uint64) testkit.GGUFTensor {
	return testkit.GGUFTensor{Type: kind, Shape: shape}
}

func TestParse(t *testing.T) {
	h, err := gguf.Parse(bytes.NewReader(small()))
	want := map[string]gguf.Tensor{"a": {Type: "F32", Elements: 32, Bytes: 128}, "b": {Type: "Q4_K", Elements: 768, Bytes: 432}, "c": {Type: "Q4_0", Elements: 64, Bytes: 36}, "empty": {Type: "F16"}}
	if err != nil || !maps.Equal(h.Tensors, want) || h.Bytes() != 596 || h.End != int64(len(small())) {
		t.Errorf("%+v, %v, %d bytes, want the end %d", h, err, h.Bytes(), len(small()))
	}
	if m := h.Metadata; m["general.architecture"] != "llama" || m["llama.block_count"] != int64(2) || m["llama.attention.causal"] != true ||
		!slices.Equal(m["llama.layers"].([]int64), []int64{3, 0}) || !slices.Equal(m["llama.pattern"].([]int64), []int64{1, 0}) || len(m) != 5 {
		t.Errorf("%v", m)
	}
}

// A beginning is short at every byte, and never anything else: so it is known that more helps.
func TestShort(t *testing.T) {
	whole := small()
	tail := 31 // of the alignment, which no reader needs
	for n := range len(whole) - tail {
		if _, err := gguf.Parse(bytes.NewReader(whole[:n])); !errors.Is(err, gguf.ErrShort) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func TestRefused(t *testing.T) {
	le := binary.LittleEndian
	begin := func(version uint32, tensors, entries uint64) []byte {
		return le.AppendUint64(le.AppendUint64(le.AppendUint32([]byte("GGUF"), version), tensors), entries)
	}
	big := testkit.GGUF(nil, map[string]testkit.GGUFTensor{"x": of(0, math.MaxUint64, 2)})
	for name, tc := range map[string]struct {
		file []byte
		says string
	}{
		"another":    {[]byte("PK\x03\x04...."), "no GGUF file"},
		"version 1":  {begin(1, 0, 0), "version 1"},
		"big-endian": {begin(3<<24, 0, 0), "little-endian"},
		"many":       {begin(3, 1<<40, 0), "tensors"},
		"long text":  {le.AppendUint64(begin(3, 0, 1), 1<<50), "would have"},
		"kind":       {append(le.AppendUint64(begin(3, 0, 1), 0), 99, 0, 0, 0), "unknown kind 99"},
		"type":       {testkit.GGUF(nil, map[string]testkit.GGUFTensor{"x": of(77, 1)}), "type 77"},
		"blocks":     {testkit.GGUF(nil, map[string]testkit.GGUFTensor{"x": of(12, 100)}), "whole blocks"},
		"dimensions": {testkit.GGUF(nil, map[string]testkit.GGUFTensor{"x": of(0, make([]uint64, 9)...)}), "9 dimensions"},
		"overflow":   {big, "more numbers"},
	} {
		if _, err := gguf.Parse(bytes.NewReader(tc.file)); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "short.gguf")
	if err := os.WriteFile(path, small(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gguf.ReadFile(path); err == nil || !strings.Contains(err.Error(), "596 bytes, and the file 0") {
		t.Errorf("a file without its tensors: %v", err)
	}
}

func TestModels(t *testing.T) {
	got := gguf.Models([]string{"x-00002-of-00002.gguf", "x-00001-of-00002.gguf", "mmproj-x.gguf", "q/y.gguf", "config.json"})
	if len(got) != 2 || !slices.Equal(got["x.gguf"], []string{"x-00001-of-00002.gguf", "x-00002-of-00002.gguf"}) || !slices.Equal(got["q/y.gguf"], []string{"q/y.gguf"}) {
		t.Errorf("%v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small())
	f.Add([]byte("GGUF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := gguf.Parse(bytes.NewReader(b))
		if err != nil {
			return
		}
		if h.Bytes() < 0 || h.End < 0 {
			t.Errorf("%+v", h)
		}
	})
}
