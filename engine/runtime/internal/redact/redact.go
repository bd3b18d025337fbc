// Package redact replaces the values of secrets in what the machine puts out by their names.
package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MinLength is the shortest value that is accepted as a secret: replacing
// anything shorter would garble ordinary output.
const MinLength = 4

// Redactor replaces the values of secrets by their names.
type Redactor struct{ patterns []pattern }

type pattern struct{ value, replacement []byte }

// New looks for each value as it is and as it stands in JSON, which
// Python and Go escape differently.
func New(secrets map[string]string) *Redactor {
	s := &Redactor{}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value := secrets[name]
		forms := []string{value, jsonForm(value), unquoted(strconv.QuoteToASCII(value))}
		slices.Sort(forms)
		for _, form := range slices.Compact(forms) {
			s.patterns = append(s.patterns, pattern{[]byte(form), []byte("[secret " + name + "]")})
		}
	}
	return s
}

func jsonForm(value string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a string cannot fail
	return unquoted(strings.TrimSuffix(b.String(), "\n"))
}

func unquoted(s string) string { return s[1 : len(s)-1] }

func (s *Redactor) empty() bool { return len(s.patterns) == 0 }

// Clean redacts something whole.
func (s *Redactor) Clean(data []byte) []byte {
	if s.empty() {
		return data
	}
	var out bytes.Buffer
	w := s.Writer(&out)
	_, _ = w.Write(data) // a buffer takes all
	w.Flush()
	return out.Bytes()
}

// Writer redacts a stream. It holds back only an ending that may be the beginning of a secret.
type Writer struct {
	s       *Redactor
	w       io.Writer
	held    []byte
	covered int // how much of held belongs to a secret whose name was written
}

// Writer returns a writer that redacts a stream and passes it on to w.
func (s *Redactor) Writer(w io.Writer) *Writer { return &Writer{s: s, w: w} }

// Write redacts data and passes on what can be no part of a secret.
func (w *Writer) Write(data []byte) (int, error) {
	if w.s.empty() {
		return w.w.Write(data)
	}
	buf := append(w.held, data...)
	return len(data), w.emit(buf, w.s.undecided(buf))
}

// Flush passes on what was held back; nothing follows it.
func (w *Writer) Flush() error { return w.emit(w.held, len(w.held)) }

type span struct {
	start, end  int
	replacement []byte
}

// emit writes buf up to the given place, secrets replaced, and holds the rest.
func (w *Writer) emit(buf []byte, upTo int) error {
	var out []byte
	at := 0
	for _, m := range w.s.find(buf, w.covered) {
		if m.start >= upTo {
			break
		}
		out = append(append(out, buf[at:m.start]...), m.replacement...)
		at = m.end
	}
	if at < upTo {
		out = append(out, buf[at:upTo]...)
		at = upTo
	}
	w.covered = max(at, w.covered) - upTo
	w.held = append([]byte(nil), buf[upTo:]...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}

// find returns the secrets in buf in order; overlapping ones become one span,
// so that no part of either is left. The first covered bytes are part of one
// that has been replaced already.
func (s *Redactor) find(buf []byte, covered int) []span {
	var spans []span
	for _, p := range s.patterns {
		for from := 0; ; {
			i := bytes.Index(buf[from:], p.value)
			if i < 0 {
				break
			}
			spans = append(spans, span{from + i, from + i + len(p.value), p.replacement})
			from += i + 1
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var merged []span
	if covered > 0 {
		merged = append(merged, span{end: covered})
	}
	for _, m := range spans {
		if n := len(merged); n > 0 && m.start < merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, m.end)
			continue
		}
		merged = append(merged, m)
	}
	return merged
}

// undecided is where the longest ending of buf begins that is the beginning of
// a secret.
func (s *Redactor) undecided(buf []byte) int {
	at := len(buf)
	for _, p := range s.patterns {
		for n := min(len(p.value)-1, len(buf)); n > len(buf)-at; n-- {
			if bytes.HasSuffix(buf, p.value[:n]) {
				at = len(buf) - n
				break
			}
		}
	}
	return at
}
