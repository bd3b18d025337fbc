package mcp

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// bar is how far a progress bar of tqdm has come.
type bar struct {
	N       float64 `json:"n"`
	Total   float64 `json:"total"`
	Message string  `json:"message,omitempty"` // what stands around the bar
}

// barLine matches "epoch 2:  45%|████▌     | 4.5k/10.0k [00:10<00:12, 4.4it/s]".
var barLine = regexp.MustCompile(`^(.*?):?\s*\d{1,3}%\|[^|]*\|\s*([\d.]+)([kKMGTP]?)[^\s/]*/([\d.]+)([kKMGTP]?)[^\s\[]*\s*(?:\[(.*?)\]?)?\s*$`)

// parseBar reads a line that tqdm has drawn.
func parseBar(line string) (bar, bool) {
	m := barLine.FindStringSubmatch(line)
	if m == nil {
		return bar{}, false
	}
	n, err := strconv.ParseFloat(m[2], 64)
	total, err2 := strconv.ParseFloat(m[4], 64)
	if err != nil || err2 != nil || total <= 0 || n < 0 {
		return bar{}, false
	}
	b := bar{N: n * unit(m[3]), Total: total * unit(m[5])}
	b.Message = strings.TrimSpace(strings.TrimSpace(m[1]) + " " + strings.TrimSpace(m[6]))
	return b, b.N <= b.Total
}

func unit(letter string) float64 {
	switch letter {
	case "k", "K":
		return 1e3
	case "M":
		return 1e6
	case "G":
		return 1e9
	case "T":
		return 1e12
	case "P":
		return 1e15
	}
	return 1
}

// MaxTail is how much of what a function has printed is kept.
const MaxTail = 4 << 10

// maxLine is the longest line that is looked at as a whole.
const maxLine = 4 << 10

// screen is what a function has printed, as a terminal shows it: a line that is
// drawn again takes the place of the one before.
type screen struct {
	tail []byte // lines that are complete
	line []byte // the one that is being written
	redo bool   // the next character begins the line anew
	bar  *bar   // the last that was drawn
	news []byte // complete lines, and no bars, that nobody has been told yet
	lost int    // bytes of news that were too many
}

func (s *screen) write(text string) {
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

func (s *screen) add(text string) {
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
func (s *screen) look() {
	if bytes.IndexByte(s.line, '|') < 0 {
		return // as most lines are
	}
	if b, ok := parseBar(ansi.ReplaceAllString(string(s.line), "")); ok {
		s.bar = &b
	}
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

func (s *screen) end() {
	line := ansi.ReplaceAll(s.line, nil)
	s.line, s.redo = s.line[:0], false
	if len(line) == 0 {
		return
	}
	line = append(line, '\n')
	s.tail = append(s.tail, line...)
	if over := len(s.tail) - MaxTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	if _, drawn := parseBar(strings.TrimSpace(string(line))); drawn {
		return
	}
	if len(s.news)+len(line) > 2*MaxTail {
		s.lost += len(line)
		return
	}
	s.news = append(s.news, line...)
}

// text is the end of what has been printed.
func (s *screen) text() string {
	text := string(s.tail) + ansi.ReplaceAllString(string(s.line), "")
	if over := len(text) - MaxTail; over > 0 {
		text = text[over:]
	}
	return strings.ToValidUTF8(text, "")
}

// told gives the news away.
func (s *screen) told() string {
	text := string(s.news)
	if s.lost > 0 {
		text += "[" + strconv.Itoa(s.lost) + " bytes more]\n"
	}
	s.news, s.lost = s.news[:0], 0
	return strings.ToValidUTF8(text, "")
}

// lastLine is what a progress message shows where there is no bar.
func (s *screen) lastLine() string {
	line := strings.TrimSpace(ansi.ReplaceAllString(string(s.line), ""))
	if line == "" {
		tail := strings.TrimRight(string(s.tail), "\n")
		line = tail[strings.LastIndexByte(tail, '\n')+1:]
	}
	if len(line) > 200 {
		line = line[:200]
	}
	return strings.ToValidUTF8(line, "")
}
