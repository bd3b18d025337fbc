package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/sanitize"
)

// printJSON prints one value on one line of stdout.
func (a *app) printJSON(v any) error { return writeJSON(a.ui.stdout(), v) }

// writeJSON writes one value on one line, with escapes for all that a terminal obeys.
func writeJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(sanitize.JSON(text.Bytes()))
	return err
}

// print prints v under --json, and what text writes otherwise.
func (a *app) print(v any, text func(w io.Writer) error) error {
	if a.jsonOut {
		return a.printJSON(v)
	}
	return text(a.ui.stdout())
}

// document prints a JSON document as it is written, under --json on one line.
func (a *app) document(text []byte) error {
	return a.print(json.RawMessage(text), func(w io.Writer) error {
		_, err := w.Write(sanitize.JSON(text))
		return err
	})
}

func (a *app) println(args ...any) error {
	_, err := fmt.Fprintln(a.ui.stdout(), args...)
	return err
}

// streams are where the output of a command goes: to the terminal, straight to a pipe or a
// file, or as JSON lines on stdout. end flushes them.
func (a *app) streams() (stdout, stderr io.Writer, end func() error) {
	if !a.jsonOut {
		o, e := a.ui.screen(a.ui.out), a.ui.screen(a.ui.err)
		return o, e, func() error { return errors.Join(o.Flush(), e.Flush()) }
	}
	mu := &sync.Mutex{}
	o, e := &jsonStream{app: a, mu: mu, name: "stdout"}, &jsonStream{app: a, mu: mu, name: "stderr"}
	return o, e, func() error {
		if err := o.flush(); err != nil {
			return err
		}
		return e.flush()
	}
}

// chunk is a piece of a stream as a JSON line: text, or base64 where it is none.
type chunk struct {
	Stream string `json:"stream"`
	Source string `json:"source,omitempty"` // the service, for logs of several
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"`
}

// jsonStream writes chunks. A character that is cut in two waits for its rest.
type jsonStream struct {
	app    *app
	mu     *sync.Mutex
	name   string
	source string
	aside  bool // on stderr, for stdout has the result
	rest   []byte
}

func (s *jsonStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := append(s.rest, p...)
	n := wholeRunes(data)
	s.rest = append([]byte(nil), data[n:]...)
	return len(p), s.emit(data[:n])
}

func (s *jsonStream) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.rest
	s.rest = nil
	return s.emit(rest)
}

func (s *jsonStream) emit(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	c := chunk{Stream: s.name, Source: s.source}
	if utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	if s.aside {
		return writeJSON(s.app.ui.stderr(), c)
	}
	return s.app.printJSON(c)
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
