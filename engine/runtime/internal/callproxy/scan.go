package callproxy

import (
	"bufio"
	"errors"
	"io"
	"slices"
)

// topLevel finds plain values of an object by their keys, without reading the rest of
// it into memory. What is no JSON finds nothing: the worker will say so.
func topLevel(r io.Reader, keys ...string) (map[string]string, error) {
	s := &scanner{r: bufio.NewReaderSize(r, 4<<10), found: map[string]string{}, keys: keys}
	for {
		b, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			s.end()
			return s.found, nil
		}
		if err != nil {
			return nil, err
		}
		s.take(b)
	}
}

const maxScanned = 64 // bytes of a key, or of a plain value

type scanner struct {
	r     *bufio.Reader
	keys  []string
	found map[string]string

	depth     int
	quoted    bool
	escaped   bool
	value     bool   // behind a colon of the object
	key       string // that the value belongs to
	text      []byte // of the key or the value
	overlong  bool
	composite bool // the value is no plain one
}

func (s *scanner) take(b byte) {
	if s.quoted {
		s.inText(b)
		return
	}
	switch b {
	case '"':
		s.quoted = true
		s.composite = s.composite || s.value
		return
	case '{', '[':
		s.depth++
		s.composite = s.composite || s.depth > 1
		return
	case '}', ']':
		s.depth--
		if s.depth == 0 {
			s.end()
		}
		return
	}
	if s.depth != 1 {
		return
	}
	switch b {
	case ':':
		s.key, s.value = string(s.text), true
		s.text, s.overlong, s.composite = s.text[:0], false, false
	case ',':
		s.end()
	case ' ', '\t', '\n', '\r':
	default:
		s.add(b)
	}
}

func (s *scanner) inText(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.quoted = false
		return
	}
	if s.depth == 1 && !s.value {
		s.add(b)
	}
}

func (s *scanner) add(b byte) {
	if len(s.text) >= maxScanned {
		s.overlong = true
		return
	}
	s.text = append(s.text, b)
}

// end notes a value.
func (s *scanner) end() {
	if s.value && !s.composite && !s.overlong && slices.Contains(s.keys, s.key) {
		s.found[s.key] = string(s.text)
	}
	s.key, s.value, s.text, s.overlong, s.composite = "", false, s.text[:0], false, false
}
