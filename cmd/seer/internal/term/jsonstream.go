package term

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/sanitize"
)

// WriteJSON writes one value on one line, with escapes for all that a terminal obeys.
func WriteJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(sanitize.JSON(text.Bytes()))
	return err
}

// chunk is a piece of a stream as a JSON line: text, or base64 where it is none.
type chunk struct {
	Stream string `json:"stream"`
	Source string `json:"source,omitempty"` // the service, for logs of several
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"`
}

// JSONStream writes chunks. A character that is cut in two waits for its rest.
type JSONStream struct {
	out    io.Writer
	mu     *sync.Mutex
	name   string
	source string
	rest   []byte
}

// NewJSONStream writes the stream of that name to out. Streams that share an output share
// the lock. The source is the service, for logs of several.
func NewJSONStream(out io.Writer, mu *sync.Mutex, name, source string) *JSONStream {
	return &JSONStream{out: out, mu: mu, name: name, source: source}
}

// Write writes what is whole.
func (s *JSONStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := append(s.rest, p...)
	n := wholeRunes(data)
	s.rest = append([]byte(nil), data[n:]...)
	return len(p), s.emit(data[:n])
}

// Flush writes what waits for its rest.
func (s *JSONStream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.rest
	s.rest = nil
	return s.emit(rest)
}

func (s *JSONStream) emit(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	c := chunk{Stream: s.name, Source: s.source}
	if utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	return WriteJSON(s.out, c)
}

// wholeRunes is the length of data without a character that has only begun.
func wholeRunes(data []byte) int {
	for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if utf8.FullRune(data[i:]) {
				return len(data)
			}
			return i
		}
	}
	return len(data)
}
