package meter

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// What a scanner remembers, so that a document of any size needs little memory.
const (
	maxDepth = 10_000 // of nested values, as encoding/json allows
	maxKeys  = 6      // in the path of a value
	maxText  = 512    // bytes of a key or a value
)

// A scanner finds the values of JSON documents that come in pieces. It checks no more than it
// needs: of a text that is not JSON, it may find anything or nothing.
type scanner struct {
	// found is called with each string, number and literal. The path has the keys of the objects
	// around it, joined by ".", without anything for arrays; a path of more than maxKeys ends
	// early, and found is not called. value is its text, unquoted, at most maxText bytes of it.
	// size is the number of bytes in the document.
	found func(path, value string, size int64)

	stack []frame
	path  []byte
	want  byte
	// text is the beginning of the string or literal at hand, as it is in the document.
	text    []byte
	size    int64
	escaped bool
	isKey   bool

	offset int64 // bytes so far
	end    int64 // offset of the } or ] that ends the first document; -1 = none yet
}

// frame is an object or array around the place that a scanner has reached.
type frame struct {
	object bool
	path   int // length of the path to it
	keys   int // in that path
}

// What a scanner expects next.
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

// reset has the next byte begin a document.
func (s *scanner) reset() {
	s.stack, s.path, s.want, s.text = s.stack[:0], s.path[:0], wantValue, s.text[:0]
}

// write takes the next piece.
func (s *scanner) write(p []byte) {
	for len(p) > 0 {
		n := 1
		switch {
		case s.want == inString:
			n = s.inString(p)
		case s.want == wantNothing:
			n = len(p)
		default:
			s.outside(p[0])
		}
		s.offset += int64(n)
		p = p[n:]
	}
}

// inString takes as much of a string as is plain, or one character of another kind, and returns
// how much that was.
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

// ended says that a value is complete.
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

// tell reports the value at hand.
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

// unquoted is the text of a string as it stands between its quotes; where it is not whole or
// wrong, as much as is right.
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
