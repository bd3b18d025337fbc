package driver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// longest is the limit of bytes that are kept of a line.
const longest = 64 << 20

// line is a line of output without its end. A truncated line has only its first bytes.
type line struct {
	text  []byte
	cut   bool
	bytes int64
}

// lineReader reads lines of any length in bounded memory.
type lineReader struct {
	r     *bufio.Reader
	limit int
	buf   []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), limit: longest}
}

// next returns the next line, which is valid until the next call, or false at the end. An error of
// the reader counts as the end.
func (r *lineReader) next() (line, bool) {
	if cap(r.buf) > 1<<20 {
		r.buf = nil // one long line must not hold its memory for the rest of the run
	}
	l := line{}
	r.buf = r.buf[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && l.bytes == 0 && len(part) == 0 {
			return line{}, false
		}
		text := bytes.TrimSuffix(part, []byte("\n"))
		l.bytes += int64(len(text))
		r.buf = append(r.buf, text[:min(len(text), r.limit-len(r.buf))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.cut = l.bytes > int64(len(r.buf))
		l.text = bytes.TrimSuffix(r.buf, []byte("\r"))
		return l, true
	}
}
