package term

import (
	"bytes"
	"io"
	"sync"

	"github.com/seer-engine/seer/engine/sanitize"
)

// PrefixWriter writes a prefix before each line. It keeps a line until it is whole, or too
// long to wait for its end. A line is sanitized, and cannot overwrite its prefix.
type PrefixWriter struct {
	prefix string
	out    io.Writer

	mu   sync.Mutex
	line []byte
}

// NewPrefixWriter writes lines with the prefix to out.
func NewPrefixWriter(out io.Writer, prefix string) *PrefixWriter {
	return &PrefixWriter{prefix: prefix, out: out}
}

const longestLine = 8 << 10

// Write writes the lines that p ends.
func (w *PrefixWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line = append(w.line, p...)
	for {
		end := bytes.IndexByte(w.line, '\n') + 1
		if end == 0 && len(w.line) < longestLine {
			return len(p), nil
		}
		if end == 0 || end > longestLine {
			end = longestLine
		}
		if err := w.emit(w.line[:end]); err != nil {
			return len(p), err
		}
		w.line = w.line[end:]
	}
}

// Flush writes what has no end yet.
func (w *PrefixWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := w.line
	w.line = nil
	if len(line) == 0 {
		return nil
	}
	return w.emit(line)
}

// emit writes a line at once, for there are others who write.
func (w *PrefixWriter) emit(line []byte) error {
	text := w.prefix + sanitize.Printed(string(line)) + "\n"
	_, err := io.WriteString(w.out, text)
	return err
}
