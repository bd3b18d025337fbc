// Package safetensors reads the headers of files of safetensors, which say what tensors the
// files have. Nothing in a header is trusted: each size is checked before it is used.
package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

const (
	// MaxHeader is the size in bytes of the largest header, as the format allows it.
	MaxHeader = 100_000_000
	// LengthBytes stand before the header and tell its length.
	LengthBytes = 8

	metadata = "__metadata__"
)

// Tensor is one tensor of a file.
type Tensor struct {
	DType string  // as the file names it, such as BF16
	Shape []int64 // empty for a scalar
	Bytes int64   // in the file
}

// Elements is the product of the shape; [math.MaxInt64] if it does not fit.
func (t Tensor) Elements() int64 {
	all := int64(1)
	for _, n := range t.Shape {
		if n == 0 {
			return 0
		}
	}
	for _, n := range t.Shape {
		if all > math.MaxInt64/n {
			return math.MaxInt64
		}
		all *= n
	}
	return all
}

// Header is what a header says.
type Header struct {
	Tensors map[string]Tensor
	End     int64 // of the tensors in the file, counted from the end of the header
}

// Length reads the first [LengthBytes] of a file: the bytes of the header after them.
func Length(first []byte) (int64, error) {
	if len(first) < LengthBytes {
		return 0, fmt.Errorf("it has %d bytes, and a file of safetensors has at least %d", len(first), LengthBytes)
	}
	n := binary.LittleEndian.Uint64(first)
	if n > MaxHeader {
		return 0, fmt.Errorf("its header would have %d bytes, and the format allows %d", n, MaxHeader)
	}
	return int64(n), nil
}

// Read reads the JSON of the header of a file of size bytes, for [Parse].
func Read(r io.ReaderAt, size int64) ([]byte, error) {
	first := make([]byte, min(LengthBytes, max(0, size)))
	if _, err := r.ReadAt(first, 0); err != nil {
		return nil, err
	}
	n, err := Length(first)
	if err != nil {
		return nil, err
	}
	if n > size-LengthBytes {
		return nil, fmt.Errorf("its header would have %d bytes, and the file has %d", n, size)
	}
	text := make([]byte, n)
	_, err = r.ReadAt(text, LengthBytes)
	if errors.Is(err, io.EOF) && n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return text, err
}

// ReadFile reads the JSON of the header of a file, and the size of that file.
func ReadFile(path string) (text []byte, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	text, err = Read(f, info.Size())
	return text, info.Size(), err
}

// Parse reads the JSON of a header. A header that leaves bytes between tensors, or names bytes
// twice, is an error, as for the format's own library.
func Parse(text []byte) (Header, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return Header{}, fmt.Errorf("its header is not a JSON object: %w", err)
	}
	h := Header{Tensors: map[string]Tensor{}}
	var all int64
	for name, one := range raw {
		if name == metadata {
			continue
		}
		t, end, err := tensor(one)
		if err != nil {
			return Header{}, fmt.Errorf("its tensor %.100q has no valid dtype, shape and place", name)
		}
		h.Tensors[name], h.End = t, max(h.End, end)
		if all > math.MaxInt64-t.Bytes {
			return Header{}, errors.New("its tensors are larger than any file")
		}
		all += t.Bytes
	}
	if all != h.End {
		return Header{}, errors.New("its tensors do not cover the file exactly once")
	}
	return h, nil
}

var errTensor = errors.New("no tensor")

// tensor reads one entry of a header, and where the tensor ends.
func tensor(text json.RawMessage) (Tensor, int64, error) {
	var t struct {
		DType   string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return Tensor{}, 0, err
	}
	if t.DType == "" || len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] {
		return Tensor{}, 0, errTensor
	}
	for _, n := range t.Shape {
		if n < 0 {
			return Tensor{}, 0, errTensor
		}
	}
	return Tensor{DType: t.DType, Shape: t.Shape, Bytes: t.Offsets[1] - t.Offsets[0]}, t.Offsets[1], nil
}
