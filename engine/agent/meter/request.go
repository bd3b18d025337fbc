package meter

import (
	"io"
	"slices"
	"strings"
	"sync"
)

// wantUsage asks an interface of OpenAI to state the usage of a stream, which it otherwise does
// not.
const wantUsage = `,"stream_options":{"include_usage":true}`

// longestRun is the length from which characters without a space count as data, such as an image.
const longestRun = 1024

// A question is the body of a request on its way to the model. It is read while it passes. A
// stream of Chat Completions asks for its usage in the end; edit says that it may be.
//
// The length of what is passed does not depend on what is found: unless something is added, as
// many spaces are, which JSON allows at its end.
type question struct {
	from io.ReadCloser
	edit bool // add what is missing
	pad  bool // keep the length

	buffer []byte // of the reader alone

	mu      sync.Mutex // the transport may still read when the answer is there
	scan    *scanner
	model   string
	stream  bool
	options bool // it has options of the stream of its own
	tools   bool // it offers the model tools
	asked   int64
	run     int64  // characters since the last space
	edited  bool   // the end of the document has passed
	added   int    // bytes
	pending []byte // read and not yet passed
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

// peekModel reads until the model is known, at most limit bytes.
func (q *question) peekModel(limit int64) {
	for q.err == nil && q.model == "" && q.scan.offset < limit {
		q.fill()
	}
}

// peekTools reads until it is known whether the request offers tools, at most limit bytes.
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

// seen is the model that the request has named so far, the bytes of its text so far, and whether
// all of it has been passed.
func (q *question) seen() (model string, asked int64, passed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.model, q.asked, q.err == io.EOF && len(q.pending) == 0
}

// fill reads a piece behind what is pending.
func (q *question) fill() {
	if q.buffer == nil || len(q.pending) > 0 { // which is a part of the last one
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

// estimate counts the text of a request. An image in it is a long run of characters, and has few
// tokens for its length: it counts no more than the beginning of the run.
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
