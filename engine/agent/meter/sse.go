package meter

import "bytes"

// events reads an answer in pieces, and passes its JSON documents to a scanner. An answer is one
// document, or a stream of server-sent events with a document in each. The first character decides,
// because servers state wrong content types.
type events struct {
	scan *scanner
	kind byte // kind of the answer
	line byte // present part of a line
	name []byte
	cr   bool // the last character was a carriage return
	data bool // the present line has data
}

// Kinds of answers.
const (
	unknown byte = iota
	document
	stream
)

// Parts of a line.
const (
	inName byte = iota
	afterColon
	inData
)

// longestName is the length of the only field name that counts.
const longestName = len("data")

func (e *events) write(p []byte) {
	for len(p) > 0 {
		if e.kind == unknown {
			e.kind = kindOf(p[0])
		}
		n := 1
		switch {
		case e.kind == document:
			e.scan.write(p)
			return
		case e.kind == stream && e.line == inData:
			if n = bytes.IndexAny(p, "\r\n"); n < 0 {
				n = len(p)
			}
			if e.data {
				e.scan.write(p[:n])
			}
			if n > 0 {
				e.cr = false
			} else {
				e.take(p[0])
				n = 1
			}
		case e.kind == stream:
			e.take(p[0])
		}
		p = p[n:]
	}
}

func kindOf(first byte) byte {
	switch first {
	case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // a byte order mark
		return unknown
	case '{', '[':
		return document
	}
	return stream
}

func (e *events) take(c byte) {
	if c == '\n' && e.cr {
		e.cr = false
		return
	}
	e.cr = c == '\r'
	if c == '\r' || c == '\n' {
		e.endLine()
		return
	}
	switch e.line {
	case inName:
		if c == ':' {
			e.data = string(e.name) == "data"
			e.line = afterColon
		} else if len(e.name) <= longestName {
			e.name = append(e.name, c)
		}
	case afterColon:
		e.line = inData
		if c != ' ' && e.data {
			e.scan.write([]byte{c})
		}
	}
}

// endLine ends a line. An empty line ends an event.
func (e *events) endLine() {
	switch {
	case e.line == inName && len(e.name) == 0:
		e.scan.reset()
	case e.data:
		e.scan.write([]byte{'\n'}) // data in several lines is one text
	}
	e.line, e.name, e.data = inName, e.name[:0], false
}
