package sanitize

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Writer passes the output of a program on to a terminal. Text, line breaks, tabs and
// colours pass; each Write ends in the terminal's own colours, so that nothing that
// another writes next is coloured. Other complete control sequences, the bell and the
// backspace are left out; the rest of what a terminal obeys is shown. An escape sequence
// or a character that has only begun waits for its rest, at most maxSequence bytes.
//
// A Writer is for one stream and not safe for concurrent use.
type Writer struct {
	to     io.Writer
	keep   string // control characters that pass
	held   []byte
	buffer []byte
	runes  runes
	style  style
}

// maxSequence is the longest control sequence that is taken for one.
const maxSequence = 64

// NewWriter is for a program's output, whose lines are its own: a carriage return passes.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, keep: "\n\t\r"} }

// NewMessageWriter is for lines that the caller begins: nothing goes back to their
// beginning.
func NewMessageWriter(to io.Writer) *Writer { return &Writer{to: to, keep: "\n\t"} }

// Write implements [io.Writer]. It writes at most once.
func (w *Writer) Write(p []byte) (int, error) {
	if len(w.held) == 0 && w.style == (style{}) && plainLength(p, w.keep) == len(p) {
		w.runes = runes{}
		return w.to.Write(p)
	}
	data := p
	if len(w.held) > 0 {
		data = append(w.held, p...)
		w.held = nil
	}
	if err := w.pass(data, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what waits for its rest. It does not flush what the Writer writes to.
func (w *Writer) Flush() error {
	data := w.held
	w.held = nil
	if len(data) == 0 {
		return nil
	}
	return w.pass(data, true)
}

func (w *Writer) pass(data []byte, end bool) error {
	out := w.buffer[:0]
	if w.style != (style{}) {
		out = w.style.append(out, style{})
	}
	for len(data) > 0 {
		n := plainLength(data, w.keep)
		if n > 0 {
			out, w.runes = append(out, data[:n]...), runes{}
		} else if out, n = w.special(out, data, end); n == 0 {
			w.held = bytes.Clone(data)
			break
		}
		data = data[n:]
	}
	if w.style != (style{}) {
		out = style{}.append(out, w.style)
	}
	if cap(out) <= 64<<10 {
		w.buffer = out
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// special takes one character or sequence that is not plain ASCII. It takes none where
// the rest of it may still come.
func (w *Writer) special(out, data []byte, end bool) ([]byte, int) {
	switch c := data[0]; {
	case c == 0x1b:
		return w.sequence(out, data, end)
	case c == '\a' || c == '\b':
		return out, 1
	case c >= utf8.RuneSelf && !end && !utf8.FullRune(data):
		return out, 0
	}
	r, n := utf8.DecodeRune(data)
	if r == utf8.RuneError && n == 1 {
		w.runes = runes{}
		return append(out, "\ufffd"...), 1
	}
	return w.runes.add(out, r, escape), n
}

// Of control sequences, complete and only begun.
var (
	control = lazyregexp.New(`^\x1b\[[0-?]*[ -/]*[@-~]`)
	begun   = lazyregexp.New(`^\x1b(?:\[[0-?]*[ -/]*)?$`)
	colors  = lazyregexp.New(`^\x1b\[([0-9;:]*)m$`)
)

func (w *Writer) sequence(out, data []byte, end bool) ([]byte, int) {
	start := data[:min(len(data), maxSequence)]
	if found := control().Find(start); found != nil {
		if match := colors().FindSubmatch(found); match != nil {
			if next := w.style.with(string(match[1])); next != w.style {
				out = next.append(out, w.style)
				w.style = next
			}
		}
		return out, len(found)
	}
	if !end && len(data) < maxSequence && begun().Match(data) {
		return out, 0
	}
	return w.runes.add(out, 0x1b, escape), 1
}

// Printed is a line that a program printed, as it stands there in the end: in colours,
// and of what it wrote over only the last. It has no line break.
func Printed(line string) string {
	line = strings.TrimRight(line, "\r\n")
	var out strings.Builder
	w := NewMessageWriter(&out)
	_, _ = io.WriteString(w, strings.ReplaceAll(lastDrawn(line), "\n", " ")) // a Builder takes all
	_ = w.Flush()
	return out.String()
}

// lastDrawn is what follows the last carriage return.
func lastDrawn(line string) string { return line[strings.LastIndexByte(line, '\r')+1:] }
