package shell

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/repl"
)

// sniffed is how much of a file decides what it is.
const sniffed = 8 << 10

// fileReader takes a file from its beginning and keeps the part that was asked for: lines
// of a text, bytes of anything else. It ends the reading when it has it.
type fileReader struct {
	offset, limit int64
	most          int // bytes of an answer

	first   []byte // up to sniffed
	decided bool
	binary  bool
	sum     hash.Hash

	at   int64 // lines or bytes that were seen
	part []byte
	more bool
	cut  bool  // a line was too long
	all  int64 // bytes taken
	line int64 // lines in part, without the last if it has no end
}

func (f *fileReader) Write(data []byte) (int, error) {
	n := len(data)
	if f.sum == nil {
		f.sum = sha256.New()
	}
	f.sum.Write(data)
	f.all += int64(n)
	if !f.decided {
		f.first = append(f.first, data...)
		if len(f.first) < sniffed {
			return n, nil
		}
		f.decide()
	} else {
		f.take(data)
	}
	if f.more {
		return 0, repl.ErrEnough
	}
	return n, nil
}

// decide says what the file is, and takes what has been kept for that.
func (f *fileReader) decide() {
	f.decided = true
	if f.sum == nil {
		f.sum = sha256.New()
	}
	start := f.first[:min(len(f.first), sniffed)]
	f.binary = bytes.IndexByte(start, 0) >= 0 || !utf8.Valid(trimRune(start))
	if f.limit == 0 {
		f.limit = maxLines
		if f.binary {
			f.limit = int64(f.most / 2)
		}
	}
	if f.binary {
		f.limit = min(f.limit, int64(f.most/2))
	} else {
		f.offset = max(f.offset, 1)
	}
	f.take(f.first)
}

// trimRune leaves out a last character that is not whole.
func trimRune(data []byte) []byte {
	for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i]
			}
			break
		}
	}
	return data
}

func (f *fileReader) take(data []byte) {
	if f.binary {
		f.takeBytes(data)
		return
	}
	for len(data) > 0 && !f.more {
		data = f.takeLine(data)
	}
}

func (f *fileReader) takeBytes(data []byte) {
	skip := min(max(f.offset-f.at, 0), int64(len(data)))
	f.at += int64(len(data))
	data = data[skip:]
	room := f.limit - int64(len(f.part))
	if int64(len(data)) > room {
		data, f.more = data[:room], true
	}
	f.part = append(f.part, data...)
}

// takeLine takes up to the end of the present line. Lines are counted from 1.
func (f *fileReader) takeLine(data []byte) []byte {
	piece, rest := data, []byte(nil)
	end := bytes.IndexByte(data, '\n')
	if end >= 0 {
		piece, rest = data[:end+1], data[end+1:]
	}
	if f.at+1 >= f.offset {
		switch {
		case f.line >= f.limit, f.line > 0 && len(f.part)+len(piece) > f.most:
			f.more = true
			f.dropOpenLine()
			return nil
		case len(f.part)+len(piece) > f.most: // a line that is longer than an answer
			f.part = append(f.part, piece[:max(0, f.most-len(f.part))]...)
			f.cut, f.more, f.line = true, true, 1
			return nil
		}
		f.part = append(f.part, piece...)
		if end >= 0 {
			f.line++
		}
	}
	if end >= 0 {
		f.at++
	}
	return rest
}

// dropOpenLine leaves the beginning of a line to the next part.
func (f *fileReader) dropOpenLine() {
	f.part = f.part[:bytes.LastIndexByte(f.part, '\n')+1]
}

func (f *fileReader) image(size int64) string {
	if !f.binary || size > reply.MaxImage || f.offset > 0 {
		return ""
	}
	return sniff(f.first)
}

// whole reports whether the part is all there is.
func (f *fileReader) whole() bool {
	return !f.more && !f.cut && (f.offset == 0 || !f.binary && f.offset == 1)
}

func (f *fileReader) fill(r *readResult) {
	r.Offset = f.offset
	if f.binary {
		r.Encoding, r.Content = "base64", base64.StdEncoding.EncodeToString(f.part)
		if f.more {
			next := f.offset + int64(len(f.part))
			r.Next = &next
		}
		return
	}
	r.Encoding, r.Content = "utf-8", string(bytes.ToValidUTF8(f.part, []byte("\uFFFD")))
	if f.more {
		next := f.offset + f.line
		r.Next = &next
		r.Note = fmt.Sprintf("lines %d to %d; the next begin at offset %d", f.offset, next-1, next)
	}
	if f.cut {
		r.Note = fmt.Sprintf("[cut by Seer: the first %d bytes of a line that is longer; the next line is at offset %d]", f.most, *r.Next)
	}
}
