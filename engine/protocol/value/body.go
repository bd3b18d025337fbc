package value

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

const (
	magic     = "\x00SV1"
	startSize = 8  // magic, number of parts
	entrySize = 17 // coding, stored length, length when decoded
	maxParts  = 1 << 20
	maxBytes  = 64 << 30
	bestZlib  = 1032 // zlib cannot shrink anything further
)

const (
	codingRaw = iota
	codingZlib
)

// entry is a part in the table of a body.
type entry struct {
	coding         byte
	stored, length int64
}

func (l Limits) max() int64 {
	if l.Bytes > 0 && l.Bytes < maxBytes {
		return l.Bytes
	}
	return maxBytes
}

// check refuses a table that does not fill a body of size bytes.
func check(entries []entry, size int64, limits Limits) error {
	rest, total := size-startSize-entrySize*int64(len(entries)), int64(0)
	for _, e := range entries {
		raw := e.coding == codingRaw && e.stored == e.length
		packed := e.coding == codingZlib && e.length/bestZlib <= e.stored
		if e.stored < 0 || e.length < 0 || e.stored > size || e.length > maxBytes || !raw && !packed {
			return malformed("a part has the coding %d and the lengths %d and %d", e.coding, e.stored, e.length)
		}
		rest -= e.stored
		if total += e.length; total > maxBytes {
			return malformed("its parts have more than %d bytes", int64(maxBytes))
		}
	}
	if rest != 0 {
		return malformed("its parts do not fill it")
	}
	if total > limits.max() {
		return fmt.Errorf("a value of %d bytes is %w of %d", total, ErrTooLarge, limits.max())
	}
	return nil
}

// table reads entries from what follows the number of parts.
func table(data []byte) []entry {
	entries := make([]entry, 0, len(data)/entrySize)
	for ; len(data) >= entrySize; data = data[entrySize:] {
		stored, length := binary.LittleEndian.Uint64(data[1:]), binary.LittleEndian.Uint64(data[9:])
		entries = append(entries, entry{data[0], int64(stored), int64(length)}) //nolint:gosec // negative ones are refused
	}
	return entries
}

// count reads the number of parts, for a body of size bytes.
func count(start []byte, size int64) (int64, error) {
	n := int64(binary.LittleEndian.Uint32(start[len(magic):]))
	if n < 1 || n > maxParts || startSize+n*entrySize > size {
		return 0, malformed("it has %d parts in %d bytes", n, size)
	}
	return n, nil
}

// Parse takes a body apart without copying what is not compressed.
func Parse(body []byte, tagged bool, limits Limits) (Value, error) {
	if !bytes.HasPrefix(body, []byte(magic)) {
		if int64(len(body)) > limits.max() {
			return Value{}, fmt.Errorf("a value of %d bytes is %w of %d", len(body), ErrTooLarge, limits.max())
		}
		return Value{JSON: body, Tagged: tagged}, nil
	}
	if len(body) < startSize {
		return Value{}, malformed("it ends too early")
	}
	n, err := count(body, int64(len(body)))
	if err != nil {
		return Value{}, err
	}
	data := body[startSize+n*entrySize:]
	entries := table(body[startSize : startSize+n*entrySize])
	if err := check(entries, int64(len(body)), limits); err != nil {
		return Value{}, err
	}
	parts := make([][]byte, len(entries))
	for i, e := range entries {
		parts[i] = data[:e.stored:e.stored]
		data = data[e.stored:]
		if e.coding == codingZlib {
			if parts[i], err = readPart(bytes.NewReader(parts[i]), e); err != nil {
				return Value{}, malformed("a part: %v", err)
			}
		}
	}
	return fromParts(parts, tagged), nil
}

func fromParts(parts [][]byte, tagged bool) Value {
	v := Value{JSON: parts[0], Tagged: tagged}
	if len(parts) > 1 {
		v.Parts, v.Tagged = parts[1:], true
	}
	return v
}

// Read reads a body of size bytes. Memory grows with what arrives.
func Read(r io.Reader, size int64, tagged bool, limits Limits) (Value, error) {
	s, err := Open(r, size, limits)
	if err != nil {
		return Value{}, err
	}
	parts := [][]byte{s.JSON}
	for range s.Size {
		e := s.entries[0]
		part, err := s.Next()
		if err != nil {
			return Value{}, err
		}
		data, err := grow(part, e.length)
		if err != nil {
			return Value{}, err
		}
		parts = append(parts, data)
	}
	if err := s.finish(); err != nil {
		return Value{}, err
	}
	return fromParts(parts, tagged), nil
}

const firstPiece = 16 << 20

// grow reads n bytes without trusting n with more memory than twice what is there.
func grow(r io.Reader, n int64) ([]byte, error) {
	buf := make([]byte, 0, min(n, firstPiece))
	for {
		end := min(int64(cap(buf)), n)
		at := len(buf)
		buf = buf[:end]
		if _, err := io.ReadFull(r, buf[at:]); err != nil {
			return nil, noEOF(err)
		}
		if end == n {
			return buf, nil
		}
		bigger := make([]byte, len(buf), min(n, 2*int64(cap(buf))))
		copy(bigger, buf)
		buf = bigger
	}
}

// Size is how many bytes WriteTo writes: the length of the body.
func (v Value) Size() int64 {
	if len(v.Parts) == 0 {
		return int64(len(v.JSON))
	}
	size := startSize + entrySize*int64(len(v.Parts)+1) + int64(len(v.JSON))
	for _, p := range v.Parts {
		size += int64(len(p))
	}
	return size
}

// WriteTo writes the body, without compression.
func (v Value) WriteTo(w io.Writer) (int64, error) {
	return writeBody(w, v.JSON, v.Parts)
}

func writeBody(w io.Writer, text json.RawMessage, parts [][]byte) (int64, error) {
	var written int64
	put := func(data []byte) error {
		n, err := w.Write(data)
		written += int64(n)
		return err
	}
	if len(parts) > 0 {
		if err := put(head(text, parts)); err != nil {
			return written, err
		}
	}
	if err := put(text); err != nil {
		return written, err
	}
	for _, p := range parts {
		if err := put(p); err != nil {
			return written, err
		}
	}
	return written, nil
}

func head(text json.RawMessage, parts [][]byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(parts)+1)) //nolint:gosec // far fewer fit into memory
	out = appendEntry(out, len(text))
	for _, p := range parts {
		out = appendEntry(out, len(p))
	}
	return out
}

func appendEntry(out []byte, n int) []byte {
	out = append(out, codingRaw)
	out = binary.LittleEndian.AppendUint64(out, uint64(n))
	return binary.LittleEndian.AppendUint64(out, uint64(n))
}

// Bytes is the body as one piece.
func (v Value) Bytes() []byte {
	if len(v.Parts) == 0 {
		return v.JSON
	}
	var out bytes.Buffer
	out.Grow(int(v.Size()))
	_, _ = v.WriteTo(&out) // a buffer takes everything
	return out.Bytes()
}
