package gguf

import (
	"fmt"
	"math"
)

// The kinds of values that metadata have.
const (
	kindUint8, kindInt8         = 0, 1
	kindUint16, kindInt16       = 2, 3
	kindUint32, kindInt32       = 4, 5
	kindFloat32, kindBool       = 6, 7
	kindString, kindArray       = 8, 9
	kindUint64, kindInt64       = 10, 11
	kindFloat64                 = 12
	maxNested                   = 4
	maxEntries            int64 = 100_000_000
)

// widths are those of numbers, in bytes.
var widths = map[uint64]int64{kindUint8: 1, kindInt8: 1, kindUint16: 2, kindInt16: 2, kindUint32: 4, kindInt32: 4,
	kindFloat32: 4, kindBool: 1, kindUint64: 8, kindInt64: 8, kindFloat64: 8}

// value reads a value; nil = it is passed over.
func (d *decoder) value(kind uint64, depth int) (any, error) {
	switch width := widths[kind]; {
	case width > 0:
		n, err := d.number(width)
		return plain(kind, n), err
	case kind == kindString:
		return d.text()
	case kind == kindArray && depth < maxNested:
		return d.list(depth)
	}
	return nil, fmt.Errorf("a value of the unknown kind %d", kind)
}

// plain is a number as its kind says.
func plain(kind, n uint64) any {
	switch kind {
	case kindFloat32:
		return float64(math.Float32frombits(uint32(n)))
	case kindFloat64:
		return math.Float64frombits(n)
	case kindBool:
		return n != 0
	case kindInt8:
		return int64(int8(n))
	case kindInt16:
		return int64(int16(n))
	case kindInt32:
		return int64(int32(n))
	}
	return int64(min(n, math.MaxInt64)) // of an int64 its negative numbers are not, which no size is
}

// list reads a list. Only short ones of whole numbers and truth values are kept.
func (d *decoder) list(depth int) (any, error) {
	kind, err := d.number(4)
	if err != nil {
		return nil, err
	}
	count, err := d.number(8)
	if err != nil {
		return nil, err
	}
	if int64(min(count, math.MaxInt64)) > maxEntries {
		return nil, fmt.Errorf("a list would have %d entries", count)
	}
	width := widths[kind]
	if width > 0 && (count > maxKept || kind == kindFloat32 || kind == kindFloat64) {
		return nil, d.skip(int64(count) * width)
	}
	var all []int64
	for range count {
		switch kind {
		case kindString:
			n, err := d.length()
			if err != nil {
				return nil, err
			}
			if err := d.skip(n); err != nil {
				return nil, err
			}
			continue
		case kindArray:
			if _, err := d.value(kind, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		one, err := d.value(kind, depth+1)
		if err != nil {
			return nil, err
		}
		switch one := one.(type) {
		case int64:
			all = append(all, one)
		case bool:
			n := int64(0)
			if one {
				n = 1
			}
			all = append(all, n)
		}
	}
	if all == nil {
		return nil, nil
	}
	return all, nil
}

// block is how a type packs numbers: so many in so many bytes.
type block struct {
	name            string
	elements, bytes int64
}

// blocks are the types of ggml, by their numbers. Those that ggml has removed are not among them.
var blocks = map[uint64]block{
	0: {"F32", 1, 4}, 1: {"F16", 1, 2}, 2: {"Q4_0", 32, 18}, 3: {"Q4_1", 32, 20}, 6: {"Q5_0", 32, 22}, 7: {"Q5_1", 32, 24},
	8: {"Q8_0", 32, 34}, 10: {"Q2_K", 256, 84}, 11: {"Q3_K", 256, 110}, 12: {"Q4_K", 256, 144},
	13: {"Q5_K", 256, 176}, 14: {"Q6_K", 256, 210}, 15: {"Q8_K", 256, 292}, 16: {"IQ2_XXS", 256, 66}, 17: {"IQ2_XS", 256, 74},
	18: {"IQ3_XXS", 256, 98}, 19: {"IQ1_S", 256, 50}, 20: {"IQ4_NL", 32, 18}, 21: {"IQ3_S", 256, 110}, 22: {"IQ2_S", 256, 82},
	23: {"IQ4_XS", 256, 136}, 24: {"I8", 1, 1}, 25: {"I16", 1, 2}, 26: {"I32", 1, 4}, 27: {"I64", 1, 8}, 28: {"F64", 1, 8},
	29: {"IQ1_M", 256, 56}, 30: {"BF16", 1, 2}, 34: {"TQ1_0", 256, 54}, 35: {"TQ2_0", 256, 66}, 39: {"MXFP4", 32, 17}, 40: {"NVFP4", 64, 36},
	41: {"Q1_0", 128, 18},
}

// sized is a tensor of a type and a shape.
func sized(kind uint64, shape []uint64) (Tensor, error) {
	b, ok := blocks[kind]
	if !ok {
		return Tensor{}, fmt.Errorf("its type %d is not known", kind)
	}
	t := Tensor{Type: b.name, Elements: 1}
	for _, n := range shape {
		if n == 0 {
			return Tensor{Type: b.name}, nil
		}
	}
	for _, n := range shape {
		if n > math.MaxInt64 || t.Elements > math.MaxInt64/int64(n) {
			return Tensor{}, fmt.Errorf("it has more numbers than any file")
		}
		t.Elements *= int64(n)
	}
	if t.Elements%b.elements != 0 {
		return Tensor{}, fmt.Errorf("%d numbers are no whole blocks of %s", t.Elements, b.name)
	}
	if t.Elements/b.elements > math.MaxInt64/b.bytes {
		return Tensor{}, fmt.Errorf("it has more bytes than any file")
	}
	t.Bytes = t.Elements / b.elements * b.bytes
	return t, nil
}
