package main

import (
	"bytes"
	"io"
	"sync"

	"github.com/seer-engine/seer/engine/sanitize"
)

// labelled says before each line whose it is. It keeps a line until it is whole, or too
// long to wait for its end. A line is sanitized, and cannot overwrite its label.
type labelled struct {
	label string
	out   io.Writer

	mu   sync.Mutex
	line []byte
}

const longestLine = 8 << 10

func (l *labelled) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = append(l.line, p...)
	for {
		end := bytes.IndexByte(l.line, '\n') + 1
		if end == 0 && len(l.line) < longestLine {
			return len(p), nil
		}
		if end == 0 || end > longestLine {
			end = longestLine
		}
		if err := l.emit(l.line[:end]); err != nil {
			return len(p), err
		}
		l.line = l.line[end:]
	}
}

// flush writes what has no end yet.
func (l *labelled) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line
	l.line = nil
	if len(line) == 0 {
		return nil
	}
	return l.emit(line)
}

// emit writes a line at once, for there are others who write.
func (l *labelled) emit(line []byte) error {
	text := l.label + sanitize.Printed(string(line)) + "\n"
	_, err := io.WriteString(l.out, text)
	return err
}
