package modelfit

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// MaxHeader is the size in bytes of the largest safetensors header that is read. The format
// allows 100 MB; the Hub's own parser reads 25 MB.
const MaxHeader = 25_000_000

// Tensor is one tensor of a safetensors file.
type Tensor struct {
	DType string  // as the file names it, such as BF16
	Shape []int64 // empty for a scalar
	Bytes int64   // in the file
}

// Elements is the product of the shape; [math.MaxInt64] if it does not fit.
func (t Tensor) Elements() int64 { return product(t.Shape...) }

// HeaderLength reads the first 8 bytes of a safetensors file: the bytes of the header after
// them. A length above [MaxHeader] is an error.
func HeaderLength(first []byte) (int64, error) {
	if len(first) < 8 {
		return 0, fmt.Errorf("safetensors header: the file has %d bytes, fewer than 8; fetch it again", len(first))
	}
	n := binary.LittleEndian.Uint64(first)
	if n > MaxHeader {
		return 0, fmt.Errorf("safetensors header: its length is %d bytes, more than %d; the file is damaged", n, MaxHeader)
	}
	return int64(n), nil
}

// ParseHeader reads the JSON of a safetensors header: tensors by name.
func ParseHeader(text []byte) (map[string]Tensor, error) {
	if len(text) > MaxHeader {
		return nil, fmt.Errorf("safetensors header: it has %d bytes, more than %d; the file is damaged", len(text), MaxHeader)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("safetensors header: it is not a JSON object: %w; fetch the file again", err)
	}
	tensors := map[string]Tensor{}
	for name, one := range raw {
		if name == "__metadata__" {
			continue
		}
		var t struct {
			DType   string  `json:"dtype"`
			Shape   []int64 `json:"shape"`
			Offsets []int64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(one, &t); err != nil {
			return nil, fmt.Errorf("safetensors header: tensor %.100q: %w; fetch the file again", name, err)
		}
		if t.DType == "" || len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || negative(t.Shape) {
			return nil, fmt.Errorf("safetensors header: tensor %.100q has no valid dtype, shape or offsets; fetch the file again", name)
		}
		tensors[name] = Tensor{DType: t.DType, Shape: t.Shape, Bytes: t.Offsets[1] - t.Offsets[0]}
	}
	return tensors, nil
}

func negative(shape []int64) bool {
	for _, n := range shape {
		if n < 0 {
			return true
		}
	}
	return false
}

// product multiplies numbers that are not negative; what does not fit is [math.MaxInt64].
func product(factors ...int64) int64 {
	all := int64(1)
	for _, f := range factors {
		if f == 0 {
			return 0
		}
	}
	for _, f := range factors {
		if f < 0 || all > math.MaxInt64/f {
			return math.MaxInt64
		}
		all *= f
	}
	return all
}

// sum adds numbers that are not negative; what does not fit is [math.MaxInt64].
func sum(terms ...int64) (all int64) {
	for _, t := range terms {
		if t > math.MaxInt64-all {
			return math.MaxInt64
		}
		all += t
	}
	return all
}
