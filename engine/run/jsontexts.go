package run

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// textReader reads the texts of JSON values one after the other. It is several times as
// fast as encoding/json, whose tokens are checked and copied twice: it keeps up with what a
// notebook prints.
type textReader struct {
	in   *bufio.Reader
	text []byte // the last one, as it stands in the JSON, then what that means
}

// next reads the next text, and whether it is a key. What stands outside of texts goes to
// outside. At the end, text is what there is of one that was cut off.
func (r *textReader) next(outside io.Writer) (text []byte, isKey bool, err error) {
	for {
		part, err := r.in.ReadSlice('"')
		_, _ = outside.Write(part)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false, err
		}
	}
	err = r.literal()
	r.text = unescape(r.text)
	return r.text, err == nil && r.colon(), err
}

// literal reads a text up to its quotation mark.
func (r *textReader) literal() error {
	r.text = r.text[:0]
	for {
		part, err := r.in.ReadSlice('"')
		r.text = append(r.text, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		end := len(r.text) - 1
		if escapes := end - len(bytes.TrimRight(r.text[:end], `\`)); escapes%2 == 0 {
			r.text = r.text[:end]
			return nil
		}
	}
}

// colon reports whether a colon follows.
func (r *textReader) colon() bool {
	for {
		next, err := r.in.Peek(1)
		if err != nil || bytes.IndexByte([]byte(" \t\r\n"), next[0]) < 0 {
			return err == nil && next[0] == ':'
		}
		_, _ = r.in.Discard(1)
	}
}

// unescape puts what JSON's escapes mean into the place of the text.
func unescape(text []byte) []byte {
	at := bytes.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	out := text[:at]
	for rest := text[at:]; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 || at+1 == len(rest) {
			return append(out, rest...)
		}
		out = append(out, rest[:at]...)
		c := rest[at+1]
		rest = rest[at+2:]
		if c != 'u' {
			out = append(out, meant(c))
			continue
		}
		r, n := fromHex(rest)
		rest = rest[n:]
		if utf16.IsSurrogate(r) && len(rest) > 1 && rest[0] == '\\' && rest[1] == 'u' {
			low, n := fromHex(rest[2:])
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				r, rest = pair, rest[2+n:]
			}
		}
		out = utf8.AppendRune(out, r) // an escape is never shorter
	}
}

func meant(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// fromHex reads the four digits of an escape, and how many bytes they are: 0 where they are
// none.
func fromHex(text []byte) (rune, int) {
	n, err := strconv.ParseUint(string(text[:min(4, len(text))]), 16, 16)
	if err != nil {
		return '?', 0
	}
	return rune(n), min(4, len(text))
}
