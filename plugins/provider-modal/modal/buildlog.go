package modal

import (
	"regexp"
	"strings"
)

const maxLine = 2000 // bytes of one line of a log

// escapes are commands to a terminal.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_]|[ -/]+[0-~])")

// buildLog makes lines of the pieces in which a log comes.
type buildLog struct {
	rest  string // begun and not ended
	lines []string
}

func (b *buildLog) add(piece string) {
	for {
		line, after, ended := strings.Cut(piece, "\n")
		// A line that never ends must not grow for ever.
		b.rest += line
		if len(b.rest) > 2*maxLine {
			b.rest = b.rest[len(b.rest)-maxLine:]
		}
		if !ended {
			return
		}
		b.flush()
		piece = after
	}
}

// flush ends the line that has begun.
func (b *buildLog) flush() {
	if line := cleanLine(b.rest); line != "" {
		b.lines = append(b.lines, line)
	}
	b.rest = ""
}

// cleanLine is what a terminal would show of a line at last.
func cleanLine(line string) string {
	line = escapes.ReplaceAllString(line, "")
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	line = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, ""))
	line = strings.TrimRight(line, " \t")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return line
}
