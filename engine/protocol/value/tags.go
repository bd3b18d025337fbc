package value

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// reader gives meaning to the tags of a value.
type reader struct {
	parts  [][]byte
	tagged bool
}

func (v Value) reader() reader { return reader{v.Parts, v.Tagged || len(v.Parts) > 0} }

// A tag is read as one of these, or as Array, Image, Handle, Text, Timedelta, []byte,
// float64 or complex128.
type (
	userDict   struct{ node }           // a user's own dict with the key $seer
	itemsNode  struct{ pairs [][]node } // each a key and a value
	frameNode  struct{ columns, data, index, dtypes, names node }
	seriesNode struct{ name, data, index, dtype, names node }
)

// tag is what an object stands for, if it is a tag.
func (r reader) tag(n node) (any, bool, error) {
	if !r.tagged || n.kind != '{' || len(n.keys) != 1 || n.keys[0] != `"`+Tag+`"` {
		return nil, false, nil
	}
	inner := n.items[0]
	if inner.kind != '{' || len(inner.keys) != 1 {
		return nil, true, malformed("a tag is not an object with one key")
	}
	v, err := r.content(unquote(inner.keys[0]), inner.items[0])
	return v, true, err
}

func (r reader) content(name string, n node) (any, error) {
	switch name {
	case "float":
		return readFloat(n)
	case "dict":
		if n.kind == '{' {
			return userDict{n}, nil
		}
	case "items":
		return r.items(n)
	case "bytes":
		return r.buffer(n)
	case "complex":
		return r.complex(n)
	case "datetime", "date", "time", "decimal":
		return readText(name, n)
	case "timedelta":
		return readTimedelta(n)
	case "array":
		return r.array(n)
	case "image":
		return r.image(n)
	case "frame":
		return r.frame(n)
	case "series":
		return r.series(n)
	case "handle":
		return r.handle(n)
	default:
		return nil, malformed("the tag %q is unknown here", shorten(name))
	}
	return nil, malformed("the tag %s has not the right content", name)
}

func readFloat(n node) (any, error) {
	switch n.text {
	case `"nan"`:
		return math.NaN(), nil
	case `"inf"`:
		return math.Inf(1), nil
	case `"-inf"`:
		return math.Inf(-1), nil
	}
	return nil, malformed("an unknown float: %s", shorten(n.text))
}

func (r reader) items(n node) (any, error) {
	out := itemsNode{}
	for _, pair := range n.items {
		if pair.kind != '[' || len(pair.items) != 2 || !isKey(pair.items[0]) {
			return nil, malformed("items must be pairs of a key and a value")
		}
		if _, err := r.read(pair.items[0]); err != nil {
			return nil, err
		}
		out.pairs = append(out.pairs, pair.items)
	}
	if n.kind != '[' {
		return nil, malformed("items must be a list")
	}
	return out, nil
}

// isKey tells whether n may be a key in Python: lists in it are tuples.
func isKey(n node) bool {
	switch n.kind {
	case '{':
		inner, ok := n.get(Tag)
		return ok && len(inner.keys) == 1 && !slices.Contains([]string{`"dict"`, `"items"`, `"array"`, `"image"`, `"frame"`, `"series"`}, inner.keys[0])
	case '[':
		return !slices.ContainsFunc(n.items, func(item node) bool { return !isKey(item) })
	}
	return true
}

func (r reader) buffer(n node) ([]byte, error) {
	i, ok := n.whole()
	if !ok || i < 1 || i > int64(len(r.parts)) {
		return nil, malformed("there is no buffer %s", shorten(n.text))
	}
	return r.parts[i-1], nil
}

// whole is a whole number without fraction or exponent.
func (n node) whole() (int64, bool) {
	i, err := strconv.ParseInt(n.text, 10, 64)
	return i, n.kind == '0' && err == nil
}

func (r reader) complex(n node) (any, error) {
	if n.kind != '[' || len(n.items) != 2 {
		return nil, malformed("a complex number has two parts")
	}
	var parts [2]float64
	for i, item := range n.items {
		v, tagged, err := r.tag(item)
		if err != nil {
			return nil, err
		}
		f, isFloat := v.(float64)
		if !tagged {
			f, err = strconv.ParseFloat(item.text, 64)
			isFloat = item.kind == '0' && err == nil
		}
		if !isFloat {
			return nil, malformed("a complex number has a part that is not a number")
		}
		parts[i] = f
	}
	return complex(parts[0], parts[1]), nil
}

func readText(kind string, n node) (any, error) {
	if n.kind == '"' {
		if t := (Text{kind, unquote(n.text)}); t.valid() {
			return t, nil
		}
	}
	return nil, malformed("no %s: %s", kind, shorten(n.text))
}

func readTimedelta(n node) (any, error) {
	var parts [3]int64
	ok := n.kind == '[' && len(n.items) == 3
	for i := 0; ok && i < 3; i++ {
		parts[i], ok = n.items[i].whole()
	}
	if !ok || parts[0] < -999999999 || parts[0] > 999999999 || max(parts[1], -parts[1]) > 1e12 || max(parts[2], -parts[2]) > 1e15 {
		return nil, malformed("a timedelta has days, seconds and microseconds")
	}
	return Timedelta{parts[0], parts[1], parts[2]}, nil
}

func (r reader) array(n node) (any, error) {
	dtype, _ := n.get("dtype")
	shape, _ := n.get("shape")
	buffer, _ := n.get("buffer")
	data, err := r.buffer(buffer)
	if err != nil {
		return nil, err
	}
	lib, ok := n.get("lib")
	device, placed := n.get("device")
	if dtype.kind != '"' || shape.kind != '[' || !textOrNull(lib, ok) || !textOrNull(device, placed) {
		return nil, malformed("an array needs the text dtype and the list shape")
	}
	a := Array{DType: unquote(dtype.text), Data: data, Shape: make([]int64, len(shape.items))}
	if lib.kind == '"' {
		a.Lib = unquote(lib.text)
	}
	if device.kind == '"' {
		a.Device = unquote(device.text)
	}
	for i, item := range shape.items {
		if a.Shape[i], ok = item.whole(); !ok {
			return nil, malformed("an array has a shape that is not of whole numbers")
		}
	}
	if err := a.Check(); err != nil {
		return nil, err
	}
	if a.Lib == "torch" && len(a.Shape) == 0 && !strings.ContainsAny(a.DType, "[s") { // no date and no text
		return a.number(), nil
	}
	return a, nil
}

// textOrNull reports whether a field that may be missing is what its name promises.
func textOrNull(n node, there bool) bool { return !there || n.kind == '"' || n.text == "null" }

func (r reader) image(n node) (any, error) {
	format, _ := n.get("format")
	mode, _ := n.get("mode")
	size, _ := n.get("size")
	buffer, _ := n.get("buffer")
	data, err := r.buffer(buffer)
	if err != nil {
		return nil, err
	}
	known := []string{"png", "jpeg", "tiff", "webp", "gif", "bmp"}
	if format.kind != '"' || !slices.Contains(known, unquote(format.text)) || mode.kind != '"' || size.kind != '[' || len(size.items) != 2 {
		return nil, malformed("an image needs a known format, a mode and a size")
	}
	w, ok1 := size.items[0].whole()
	h, ok2 := size.items[1].whole()
	if !ok1 || !ok2 || w < 0 || h < 0 {
		return nil, malformed("an image needs a size of two numbers")
	}
	return Image{unquote(format.text), unquote(mode.text), int(w), int(h), data}, nil
}

func (r reader) handle(n node) (any, error) {
	if id, _ := n.get("id"); n.kind != '{' || id.kind != '"' || id.text == `""` {
		return nil, malformed("a handle needs an id")
	}
	w := newPlainWriter(PlainOptions{})
	err := w.object(r, n)
	return Handle{json.RawMessage(w.out.String())}, err
}
