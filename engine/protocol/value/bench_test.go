package value_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/seer-engine/seer/engine/protocol/value"
)

const benchFloats = 4 << 20 // 16 MB

func benchValue(b *testing.B) value.Value {
	b.Helper()
	data := make([]byte, 4*benchFloats)
	for i := range data {
		data[i] = byte(i * 7 % 61)
	}
	v, err := value.Encode(value.Array{DType: "float32", Shape: []int64{benchFloats}, Data: data})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	return v
}

func BenchmarkRead(b *testing.B) {
	body := benchValue(b).Bytes()
	for b.Loop() {
		if _, err := value.Read(bytes.NewReader(body), int64(len(body)), true, value.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	v := benchValue(b)
	for b.Loop() {
		if err := v.WritePlain(io.Discard, value.PlainOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	v := benchValue(b)
	for b.Loop() {
		if _, err := v.Hash(); err != nil {
			b.Fatal(err)
		}
	}
}
