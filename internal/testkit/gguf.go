package testkit

import (
	"encoding/binary"
	"maps"
	"slices"
)

// GGUFTensor is a tensor for [GGUF]: the number of its type in ggml, and its shape.
type GGUFTensor struct {
	Type  uint32
	Shape []uint64
}

// GGUF is the header of a GGUF file of version 3. Metadata are string, uint32, bool, []uint32,
// []bool or []string. The bytes of the tensors are not among it.
func GGUF(metadata map[string]any, tensors map[string]GGUFTensor) []byte {
	le := binary.LittleEndian
	text := func(b []byte, s string) []byte { return append(le.AppendUint64(b, uint64(len(s))), s...) }
	b := le.AppendUint32([]byte("GGUF"), 3)
	b = le.AppendUint64(le.AppendUint64(b, uint64(len(tensors))), uint64(len(metadata)))
	list := func(b []byte, kind uint32, n int) []byte {
		return le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), kind), uint64(n))
	}
	truth := map[bool]byte{true: 1}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		b = text(b, key)
		switch v := metadata[key].(type) {
		case string:
			b = text(le.AppendUint32(b, 8), v)
		case uint32:
			b = le.AppendUint32(le.AppendUint32(b, 4), v)
		case bool:
			b = append(le.AppendUint32(b, 7), truth[v])
		case []uint32:
			b = list(b, 4, len(v))
			for _, n := range v {
				b = le.AppendUint32(b, n)
			}
		case []bool:
			b = list(b, 7, len(v))
			for _, one := range v {
				b = append(b, truth[one])
			}
		case []string:
			b = list(b, 8, len(v))
			for _, s := range v {
				b = text(b, s)
			}
		default:
			panic("testkit: GGUF: a value of another type")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		b = le.AppendUint32(text(b, name), uint32(len(t.Shape)))
		for _, n := range t.Shape {
			b = le.AppendUint64(b, n)
		}
		b = le.AppendUint64(le.AppendUint32(b, t.Type), 0)
	}
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	return b
}
