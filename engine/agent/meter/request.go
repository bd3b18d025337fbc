package meter

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
)

// wantUsage requests the usage of a stream from an interface of OpenAI, which otherwise omits it.
const wantUsage = `,"stream_options":{"include_usage":true}`

// longestRun is the least number of characters without a space that count as data, such as an
// image.
const longestRun = 1024

// A question is the body of a request. It scans the body while the transport reads it. For a stream
// of Chat Completions, it adds the request for usage at the end of the document, if edit is set.
//
// With pad, the length of the body does not depend on the scan: if question adds no request for
// usage, it adds as many spaces, which JSON allows at its end.
type question struct {
	from io.ReadCloser
	edit bool // add wantUsage if it is missing
	pad  bool // otherwise add as many spaces

	buffer []byte // used only by the reader

	mu      sync.Mutex // the transport may still read after the answer has begun
	scan    *scanner
	model   string
	stream  bool
	options bool // the request has stream_options
	tools   bool // the request offers tools to the model
	asked   int64
	run     int64  // characters since the last space
	edited  bool   // the end of the document has been read
	added   int    // added bytes
	pending []byte // read, but not yet returned by Read
	err     error
}

const bufferSize = 32 << 10

func newQuestion(from io.ReadCloser, edit, pad bool) *question {
	q := &question{from: from, edit: edit, pad: pad}
	q.scan = newScanner(q.found)
	return q
}

func (q *question) found(path, value string, _ int64) {
	switch path {
	case "model":
		q.model = value
	case "stream":
		q.stream = value == "true"
	case "stream_options":
		q.options = value != "null"
	default:
		q.options = q.options || strings.HasPrefix(path, "stream_options.")
		q.tools = q.tools || strings.HasPrefix(path, "tools.")
	}
}

// peekModel reads until it finds the model, or until it has read limit bytes.
func (q *question) peekModel(limit int64) {
	for q.err == nil && q.model == "" && q.scan.offset < limit {
		q.fill()
	}
}

// peekTools reads until it finds tools, or until it has read limit bytes.
func (q *question) peekTools(limit int64) {
	for q.err == nil && !q.tools && q.scan.offset < limit {
		q.fill()
	}
}

// offersTools reports whether the request has offered tools so far.
func (q *question) offersTools() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tools
}

// Read implements [io.Reader].
func (q *question) Read(p []byte) (int, error) {
	for len(q.pending) == 0 && q.err == nil {
		q.fill()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := copy(p, q.pending)
	q.pending = q.pending[n:]
	if n > 0 || len(q.pending) > 0 {
		return n, nil
	}
	return 0, q.err
}

// seen returns the model and the bytes of text that the scan has found so far, and whether the
// transport has read the whole body.
func (q *question) seen() (model string, asked int64, passed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.model, q.asked, errors.Is(q.err, io.EOF) && len(q.pending) == 0
}

// fill reads a piece and appends it to the pending bytes.
func (q *question) fill() {
	if q.buffer == nil || len(q.pending) > 0 { // the pending bytes are in the last buffer
		q.buffer = make([]byte, bufferSize)
	}
	n, err := q.from.Read(q.buffer)
	q.mu.Lock()
	defer q.mu.Unlock()
	piece := q.buffer[:n]
	q.estimate(piece)
	before := q.scan.offset
	q.scan.write(piece)
	if q.edit && !q.edited && q.scan.end >= 0 {
		q.edited = true
		if q.stream && !q.options {
			at := q.scan.end - before
			q.add(piece[:at])
			q.add([]byte(wantUsage))
			q.added, piece = len(wantUsage), piece[at:]
		}
	}
	q.add(piece)
	q.err = err
	if err == io.EOF && q.pad {
		q.add([]byte(strings.Repeat(" ", len(wantUsage)-q.added)))
	}
}

func (q *question) add(piece []byte) {
	if len(q.pending) == 0 {
		q.pending = slices.Clip(piece)
		return
	}
	q.pending = append(q.pending, piece...)
}

// estimate counts the text of a request. An image is a long run of characters with few tokens, so
// only the beginning of a run counts.
func (q *question) estimate(piece []byte) {
	for _, c := range piece {
		if c == ' ' || c == '"' || c == '\\' {
			q.run = 0
		} else if q.run++; q.run > longestRun {
			continue
		}
		q.asked++
	}
}

// Close implements [io.Closer].
func (q *question) Close() error { return q.from.Close() }
