package meter

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Limits of a scanner's memory, which does not grow with the document.
const (
	maxDepth = 10_000 // nested values, as in encoding/json
	maxKeys  = 6      // keys in the path of a value
	maxText  = 512    // bytes of a key or a value
)

// A scanner finds the values of JSON documents that arrive in pieces. It does not validate: in a
// text that is not JSON, it may find anything or nothing.
type scanner struct {
	// found is called for each string, number and literal. path has the keys of the objects around
	// it, joined by "."; arrays add nothing. found is not called for a path of more than maxKeys
	// keys. value is the unquoted text, at most maxText bytes of it. size is the number of bytes in
	// the document.
	found func(path, value string, size int64)

	stack []frame
	path  []byte
	want  byte
	// text is the beginning of the present string or literal, as it is in the document.
	text    []byte
	size    int64
	escaped bool
	isKey   bool

	offset int64 // bytes read so far
	end    int64 // offset of the } or ] that ends the first document; -1 = none yet
}

// frame is an object or array around the scanner's position.
type frame struct {
	object bool
	path   int // length of the path to it
	keys   int // in that path
}

// States of a scanner: the expected next token.
const (
	wantValue   byte = iota
	wantKey          // or the end of the object
	wantColon        // behind a key
	wantNext         // a comma or an end
	inString         // until the quote
	inLiteral        // until what is not part of a number or a literal
	wantNothing      // not JSON
)

func newScanner(found func(path, value string, size int64)) *scanner {
	return &scanner{found: found, end: -1}
}

// reset makes the next byte the beginning of a document.
func (s *scanner) reset() {
	s.stack, s.path, s.want, s.text = s.stack[:0], s.path[:0], wantValue, s.text[:0]
}

// write scans the next piece.
func (s *scanner) write(p []byte) {
	for len(p) > 0 {
		n := 1
		switch s.want {
		case inString:
			n = s.inString(p)
		case wantNothing:
			n = len(p)
		default:
			s.outside(p[0])
		}
		s.offset += int64(n)
		p = p[n:]
	}
}

// inString scans the plain beginning of a piece of a string, or one other character. It returns the
// number of scanned bytes.
func (s *scanner) inString(p []byte) int {
	plain := len(p)
	if i := bytes.IndexByte(p, '"'); i >= 0 {
		plain = i
	}
	if i := bytes.IndexByte(p[:plain], '\\'); i >= 0 {
		plain = i
	}
	switch {
	case s.escaped:
		s.escaped = false
		plain = 1
	case plain == 0 && p[0] == '"':
		s.endString()
		return 1
	case plain == 0:
		s.escaped = true
		plain = 1
	}
	s.text = append(s.text, p[:min(plain, max(0, maxText-len(s.text)))]...)
	s.size += int64(plain)
	return plain
}

func (s *scanner) keep(c byte) {
	if len(s.text) < maxText {
		s.text = append(s.text, c)
	}
	s.size++
}

func (s *scanner) outside(c byte) {
	if s.want == inLiteral {
		if !strings.ContainsRune(" \t\r\n,]}:", rune(c)) {
			s.keep(c)
			return
		}
		s.tell(string(s.text))
	}
	switch c {
	case ' ', '\t', '\r', '\n':
	case '{', '[':
		s.open(c == '{')
	case '}', ']':
		s.shut(c == '}')
	case ',':
		s.comma()
	case ':':
		s.colon()
	case '"':
		s.begin(inString)
	default:
		if s.want != wantValue {
			s.want = wantNothing
			return
		}
		s.begin(inLiteral)
		s.keep(c)
	}
}

func (s *scanner) begin(what byte) {
	if s.want != wantValue && (s.want != wantKey || what == inLiteral) {
		s.want = wantNothing
		return
	}
	s.isKey = s.want == wantKey
	s.text, s.size, s.escaped, s.want = s.text[:0], 0, false, what
}

func (s *scanner) open(object bool) {
	if s.want != wantValue || len(s.stack) >= maxDepth {
		s.want = wantNothing
		return
	}
	f := frame{object: object, path: len(s.path)}
	if n := len(s.stack); n > 0 {
		f.keys = s.stack[n-1].keys
		if s.stack[n-1].object {
			f.keys++
		}
	}
	s.stack = append(s.stack, f)
	if object {
		s.want = wantKey
	}
}

func (s *scanner) shut(object bool) {
	n := len(s.stack)
	if n == 0 || s.stack[n-1].object != object || s.want == wantColon || s.want == wantNothing {
		s.want = wantNothing
		return
	}
	s.path = s.path[:s.stack[n-1].path]
	s.stack = s.stack[:n-1]
	s.ended()
	if n == 1 && s.end < 0 {
		s.end = s.offset
	}
}

// ended handles the end of a value.
func (s *scanner) ended() {
	s.want = wantNext
	if len(s.stack) == 0 {
		s.want = wantValue
	}
}

func (s *scanner) comma() {
	n := len(s.stack)
	switch {
	case s.want != wantNext || n == 0:
		s.want = wantNothing
	case s.stack[n-1].object:
		s.want = wantKey
	default:
		s.want = wantValue
	}
}

func (s *scanner) colon() {
	if s.want != wantColon {
		s.want = wantNothing
		return
	}
	s.want = wantValue
}

func (s *scanner) endString() {
	text := unquoted(s.text)
	if !s.isKey {
		s.tell(text)
		return
	}
	s.want = wantColon
	f := s.stack[len(s.stack)-1]
	s.path = s.path[:f.path]
	if f.keys >= maxKeys {
		return
	}
	if f.path > 0 {
		s.path = append(s.path, '.')
	}
	s.path = append(s.path, text...)
}

// tell reports the present value.
func (s *scanner) tell(value string) {
	keys := 0
	if n := len(s.stack); n > 0 {
		keys = s.stack[n-1].keys
		if s.stack[n-1].object {
			keys++
		}
	}
	if keys <= maxKeys {
		s.found(string(s.path), value, s.size)
	}
	s.ended()
}

// unquoted decodes a string without its quotes. Of an incomplete or invalid string, it returns the
// valid beginning.
func unquoted(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	var text string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if json.Unmarshal(quoted, &text) == nil {
		return text
	}
	if i := strings.LastIndexByte(string(raw), '\\'); i >= 0 {
		raw = raw[:i]
	}
	return strings.ToValidUTF8(string(raw), "")
}
