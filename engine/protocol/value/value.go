// Package value reads and writes values as they travel between an agent and a
// sandbox: JSON, with the raw buffers of arrays, bytes and images behind it; see
// docs/protocol.md, section 4.
package value

import (
	"encoding/json"
	"errors"
	"io"
)

// Value is a value as it travels: the body of a frame, taken apart.
type Value struct {
	JSON   json.RawMessage // part 0
	Parts  [][]byte        // the parts that follow, as they are when decoded; part B of a tag is Parts[B-1]
	Tagged bool            // there are tags in JSON; always with Parts
}

// MediaType is the Content-Type of a body that is a value, and of a stream of frames.
const (
	MediaType       = "application/vnd.seer.value"
	MediaTypeFrames = "application/vnd.seer.frames"
)

// Limits bound what reading takes. The zero value has none beyond the protocol's.
type Limits struct {
	Bytes int64 // of all parts when decoded
}

// ErrTooLarge is in the chain of errors of what exceeds a limit of the caller.
var ErrTooLarge = errors.New("larger than the limit")

// Read reads a body of size bytes. Memory grows with what arrives.
func Read(r io.Reader, size int64, tagged bool, limits Limits) (Value, error) {
	return Value{}, errors.ErrUnsupported
}

// Parse takes a body apart without copying what is not compressed.
func Parse(body []byte, tagged bool, limits Limits) (Value, error) {
	return Value{}, errors.ErrUnsupported
}

// Size is how many bytes WriteTo writes: the length of the body.
func (v Value) Size() int64 { return 0 }

// WriteTo writes the body, without compression.
func (v Value) WriteTo(w io.Writer) (int64, error) { return 0, errors.ErrUnsupported }

// Bytes is the body as one piece.
func (v Value) Bytes() []byte { return nil }

// Encode writes a Go value: nil, bools, numbers (NaN and infinities too), strings,
// []byte, time.Time, complex numbers, [Array], [Image], [Frame], [Series],
// [Handle], [Value], maps and slices of these; what else encoding/json writes, as
// it writes it.
func Encode(v any) (Value, error) { return Value{}, errors.ErrUnsupported }

// Arguments is the body of a call.
func Arguments(args []any, kwargs map[string]any) (Value, error) {
	return Value{}, errors.ErrUnsupported
}

// Decode stores the value in what into points to: an any (then int64, float64,
// json.Number beyond them, string, []any, map[string]any, []byte, time.Time, Array and
// the other types of this package), one of this package's types, or whatever
// encoding/json can fill from the plain JSON.
func (v Value) Decode(into any) error { return errors.ErrUnsupported }

// Shape bounds and styles what Plain writes.
type PlainOptions struct {
	Limit   int64 // bytes of JSON; beyond it is ErrTooLarge. 0 = none
	Shorten int64 // a buffer of more bytes is told by a text such as "float32 array [1024,1024], 4 MiB"; 0 = none is
}

// Plain is the value as JSON that anybody can read: see the end of section 4.
func (v Value) Plain(o PlainOptions) (json.RawMessage, error) { return nil, errors.ErrUnsupported }

// WritePlain writes the same to w as it goes.
func (v Value) WritePlain(w io.Writer, o PlainOptions) error { return errors.ErrUnsupported }

// WriteCanonical writes the form by which a record knows the value: the same for
// all bodies that mean the same, but for the texts of numbers. It is itself a body
// that can be read, as tagged.
func (v Value) WriteCanonical(w io.Writer) error { return errors.ErrUnsupported }

// Hash is the hex SHA-256 of the canonical form.
func (v Value) Hash() (string, error) { return "", errors.ErrUnsupported }

// Stream is a body that is read part by part, for buffers that are better not held
// in memory.
type Stream struct {
	JSON json.RawMessage
	Size []int64 // of the parts that follow, when decoded
}

// Open reads the beginning of a body of size bytes: all but the parts that follow.
func Open(r io.Reader, size int64, limits Limits) (*Stream, error) { return nil, errors.ErrUnsupported }

// Next is the next part; io.EOF after the last. The one before must not be read any more.
func (s *Stream) Next() (io.Reader, error) { return nil, errors.ErrUnsupported }
