// Package term reads what programs print for a terminal: redrawn lines, colours and the
// progress bars of tqdm.
package term

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/sanitize"
)

// MaxTail is how much of what a function has printed is kept.
const MaxTail = 4 << 10

// maxLine is the longest line that is looked at as a whole.
const maxLine = 4 << 10

// Screen is what a function has printed, as a terminal shows it: a line that is
// drawn again takes the place of the one before, and colours are left out. The zero value is empty.
// It is not safe for concurrent use.
type Screen struct {
	tail []byte // lines that are complete
	line []byte // the one that is being written
	redo bool   // the next character begins the line anew
	bar  *Bar   // the last that was drawn
	news []byte // complete lines, and no bars, that nobody has been told yet
	lost int    // bytes of news that were too many
}

// Write takes what was printed. Of a piece that is many times what is kept, only the end
// is looked at.
func (s *Screen) Write(text string) {
	if over := len(text) - 4*MaxTail; over > 0 {
		s.Close()
		s.lost += over
		text = text[over:]
	}
	for len(text) > 0 {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			s.add(text)
			s.look()
			return
		}
		s.add(text[:i])
		s.look()
		if text[i] == '\n' {
			s.end()
		} else {
			s.redo = true
		}
		text = text[i+1:]
	}
}

func (s *Screen) add(text string) {
	if text == "" {
		return
	}
	if s.redo {
		s.line, s.redo = s.line[:0], false
	}
	s.line = append(s.line, text...)
	if len(s.line) > maxLine {
		s.end()
	}
}

// look sees whether the line is a bar.
func (s *Screen) look() {
	if bytes.IndexByte(s.line, '|') < 0 {
		return // as most lines are
	}
	if b, ok := ParseBar(sanitize.Strip(string(s.line))); ok {
		s.bar = &b
	}
}

// Bar is the progress bar that was drawn last; nil = none.
func (s *Screen) Bar() *Bar { return s.bar }

// Close ends a line that has no end.
func (s *Screen) Close() {
	if len(s.line) > 0 {
		s.end()
	}
}

func (s *Screen) end() {
	line := s.line
	line = []byte(sanitize.Strip(string(line)))
	s.line, s.redo = s.line[:0], false
	if len(line) == 0 {
		return
	}
	line = append(line, '\n')
	s.tail = append(s.tail, line...)
	if over := len(s.tail) - MaxTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	if bytes.IndexByte(line, '|') >= 0 {
		if _, drawn := ParseBar(strings.TrimSpace(string(line))); drawn {
			return
		}
	}
	if len(s.news)+len(line) > 2*MaxTail {
		s.lost += len(line)
		return
	}
	s.news = append(s.news, line...)
}

// Text is the end of what has been printed.
func (s *Screen) Text() string {
	text := string(s.tail) + sanitize.Strip(string(s.line))
	if over := len(text) - MaxTail; over > 0 {
		text = text[over:]
	}
	return strings.ToValidUTF8(text, "")
}

// DrainOutput gives the news away.
func (s *Screen) DrainOutput() string {
	text := string(s.news)
	if s.lost > 0 {
		text += "[" + strconv.Itoa(s.lost) + " bytes more]\n"
	}
	s.news, s.lost = s.news[:0], 0
	return strings.ToValidUTF8(text, "")
}

// LastLine is what a progress message shows where there is no bar.
func (s *Screen) LastLine() string {
	line := strings.TrimSpace(sanitize.Strip(string(s.line)))
	if line == "" {
		tail := strings.TrimRight(string(s.tail), "\n")
		line = tail[strings.LastIndexByte(tail, '\n')+1:]
	}
	if len(line) > 200 {
		line = line[:200]
	}
	return strings.ToValidUTF8(line, "")
}
