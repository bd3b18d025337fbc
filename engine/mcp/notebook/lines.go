package notebook

import (
	"strings"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/sanitize"
)

// plain is a text as it would be read on a terminal: without ANSI, with what was drawn
// again only as it was last, and valid UTF-8.
func plain(text string) string {
	var out everything
	var l lines
	l.write(&out, text)
	l.flush(&out)
	return out.String()
}

// sink takes complete lines.
type sink interface{ add(text string) }

type everything struct{ strings.Builder }

func (e *everything) add(text string) { e.WriteString(text) }

// lines takes a stream's pieces and gives its lines away as they are complete.
type lines struct {
	line []byte // that is being written
	redo bool   // the next character begins the line anew
}

// maxLine is the longest line that is kept whole until its end.
const maxLine = 64 << 10

func (l *lines) write(out sink, text string) {
	for len(text) > 0 {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			l.add(out, text)
			return
		}
		l.add(out, text[:i])
		if text[i] == '\r' {
			l.redo = true
		} else {
			l.redo = false
			l.line = append(l.line, '\n')
			l.flush(out)
		}
		text = text[i+1:]
	}
}

func (l *lines) add(out sink, text string) {
	if text == "" {
		return
	}
	if l.redo {
		l.line, l.redo = l.line[:0], false
	}
	l.line = append(l.line, text...)
	if len(l.line) > maxLine {
		l.flush(out)
	}
}

func (l *lines) flush(out sink) {
	out.add(l.clean())
	l.line = l.line[:0]
}

// clean is the line that is being written, as it is read now.
func (l *lines) clean() string { return cleanLine(string(l.line)) }

func cleanLine(text string) string {
	if strings.Contains(text, "\b") {
		text = rubOut(text)
	}
	return sanitize.Strip(text)
}

// rubOut takes back what backspaces take back.
func rubOut(text string) string {
	var out []rune
	for _, r := range text {
		switch {
		case r != '\b':
			out = append(out, r)
		case len(out) > 0:
			out = out[:len(out)-1]
		}
	}
	return string(out)
}

// keep is how much of a span's head, and of its tail, is kept.
const keep = 16 << 10

// span is a text of which only the head and the tail are kept.
type span struct {
	head, tail []byte
	size       int // bytes of the whole
}

func (s *span) add(text string) {
	s.size += len(text)
	if room := keep - len(s.head); room > 0 && len(s.tail) == 0 {
		first := reply.Cut(text, room)
		s.head, text = append(s.head, first...), text[len(first):]
	}
	if text == "" {
		return
	}
	if over := len(text) - 2*keep; over > 0 {
		text = text[over:]
	}
	s.tail = append(s.tail, text...)
	if len(s.tail) > 4*keep {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-keep:]...)
	}
}

// whole reports whether nothing is missing.
func (s *span) whole() bool { return s.size == len(s.head)+len(s.tail) }

// first is at most n bytes of the beginning; more than keep only where nothing is
// missing.
func (s *span) first(n int) string {
	text := s.head
	if s.whole() {
		text = append(text[:len(text):len(text)], s.tail...)
	}
	if len(text) > n {
		text = text[:n] // a character that is cut is left out below
	}
	return strings.ToValidUTF8(string(text), "")
}

// last is at most n bytes of the end.
func (s *span) last(n int) string {
	text := s.tail
	if s.whole() {
		text = append(s.head[:len(s.head):len(s.head)], s.tail...)
	}
	if len(text) > n {
		text = text[len(text)-n:]
	}
	return strings.ToValidUTF8(string(text), "")
}
