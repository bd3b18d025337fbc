package namesearch

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// view is data as one of its encodings reads it.
type view struct {
	form string
	data []byte
	deep bool // it can have encodings itself
}

// apart stands between what was decoded at different places, so that nothing is found
// across them.
var apart = []byte("\n\n\n\n\n")

// decoded collects what one encoding reads at many places.
type decoded struct {
	form        string
	plain, deep bytes.Buffer
	packed      []view // each is an archive
}

// minDeep is the shortest text in which another encoding is looked for.
const minDeep = 8

// add takes what was decoded at one place. Of most words it is no text: no encoding is
// looked for in that.
func (d *decoded) add(data []byte) {
	switch {
	case packed(data) != "":
		d.packed = append(d.packed, view{d.form, bytes.Clone(data), true})
	case len(data) >= minDeep && (isText(data) || len(narrow(data)) > 0):
		d.deep.Write(data)
		d.deep.Write(apart)
		return
	}
	d.plain.Write(data)
	d.plain.Write(apart)
}

func (d *decoded) views() []view {
	return append(d.packed, view{d.form, d.plain.Bytes(), false}, view{d.form, d.deep.Bytes(), true})
}

// views are the texts that data may be an encoding of.
func (n Names) views(data []byte) []view {
	views := []view{{"UTF-16", narrow(data), true}, {"escaped", unescape(data), true}}
	if n.foreign {
		for at := range 2 {
			little, big := wide(data[min(at, len(data)):])
			views = append(views, view{"UTF-16", little, true}, view{"UTF-16", big, true})
		}
	}
	views = append(views, fromBase64(data)...)
	return append(views, fromHex(data)...)
}

// narrow collects the runs of data that are ASCII in UTF-16 or UTF-32, in either order: of
// two, or four, bytes all are zero but one.
func narrow(data []byte) []byte {
	var out []byte
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], 0)
		if i < 0 {
			return out
		}
		start, zeros := at+i, 0
		if start > at && data[start-1] != 0 {
			start--
		}
		run := len(out)
		for at = start; at < len(data) && zeros < 4; at++ {
			c := data[at]
			switch {
			case c == 0:
				zeros++
			case at > start && data[at-1] != 0 || c >= 0x7f: // two letters without a zero between them
				zeros = 4
				at--
			default:
				out, zeros = append(out, c), 0
			}
		}
		if len(out)-run < minWord {
			out = out[:run]
		} else {
			out = append(out, apart...)
		}
		at = max(at, start+2)
		at = min(at, len(data))
	}
}

// wide decodes UTF-16 in both orders.
func wide(data []byte) (little, big []byte) {
	l, b := make([]uint16, len(data)/2), make([]uint16, len(data)/2)
	for i := range l {
		x, y := uint16(data[2*i]), uint16(data[2*i+1])
		l[i], b[i] = x|y<<8, y|x<<8
	}
	return []byte(string(utf16.Decode(l))), []byte(string(utf16.Decode(b)))
}

// beside is how much of a text is looked at on each side of an escaped character.
const beside = 64

// unescape undoes what URLs, JSON, Python and HTML put in the place of characters. It has
// the surroundings of such places.
func unescape(data []byte) []byte {
	var out []byte
	done := 0 // up to where data is in out
	for i := 0; i+1 < len(data); {
		next := bytes.IndexAny(data[i:], `%\&=`)
		if next < 0 {
			break
		}
		i += next
		r, size := escape(data[i:min(len(data), i+10)])
		if size == 0 {
			i++
			continue
		}
		if from := max(done, i-beside); from > done {
			out = append(append(append(out, data[done:min(done+beside, from)]...), apart...), data[from:i]...)
		} else {
			out = append(out, data[done:i]...)
		}
		out = utf8.AppendRune(out, r)
		i += size
		done = i
	}
	if done == 0 {
		return nil
	}
	return append(out, data[done:min(len(data), done+beside)]...)
}

// escape reads one: %7a =7A \x7a \u007a \U0000007a \172 \n \/ &#122; &#x7a;. Its size is 0
// where there is none.
func escape(b []byte) (r rune, size int) {
	number := func(from, digits, base int) (rune, int) {
		if from+digits > len(b) {
			return 0, 0
		}
		v, err := strconv.ParseUint(string(b[from:from+digits]), base, 31)
		if err != nil || v > utf8.MaxRune {
			return 0, 0
		}
		return rune(v), from + digits
	}
	if len(b) < 2 {
		return 0, 0
	}
	switch b[0] {
	case '%', '=':
		r, size = number(1, 2, 16)
	case '&':
		end := bytes.IndexByte(b, ';')
		if end < 3 || b[1] != '#' {
			return 0, 0
		}
		if b[2] == 'x' || b[2] == 'X' {
			r, size = number(3, end-3, 16)
		} else {
			r, size = number(2, end-2, 10)
		}
		if size > 0 {
			size++
		}
	default:
		switch c := b[1]; c {
		case 'x':
			r, size = number(2, 2, 16)
		case 'u':
			r, size = number(2, 4, 16)
		case 'U':
			r, size = number(2, 8, 16)
		case 'n', 't', 'r', '/', '"', '\\':
			return map[byte]rune{'n': '\n', 't': '\t', 'r': '\r', '/': '/', '"': '"', '\\': '\\'}[c], 2
		default:
			r, size = number(1, 3, 8)
		}
	}
	return r, size
}

const (
	minBase64 = 6  // characters: four letters
	minHex    = 8  // digits: four letters
	wrapped   = 60 // characters of a line of base64 that goes on in the next one
)

// Classes of bytes, as sets.
var (
	inBase64 = classOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
	inHex    = classOf("0123456789abcdefABCDEF")
	inDumps  = classOf(" :,\\\n-") // between pairs of digits
)

func classOf(members string) (class [256]bool) {
	for _, c := range []byte(members) {
		class[c] = true
	}
	return class
}

// fromBase64 decodes all runs of data that can be base64, from each of their first four
// characters, for they may follow upon other letters.
func fromBase64(data []byte) []view {
	d := decoded{form: "base64"}
	var run, out []byte
	for from, end := 0, 0; from < len(data); from += end {
		if !inBase64[data[from]] {
			end = 1
			continue
		}
		if run, end = base64Run(data[from:], run[:0]); len(run) < minBase64 {
			continue
		}
		for shift := range min(4, len(run)-1) {
			out = decodeBase64(run[shift:], out[:0])
			d.add(out)
		}
	}
	return d.views()
}

// base64Run appends the run at the beginning of data to run, without the ends of its
// lines and in one alphabet. The next one may begin at end.
func base64Run(data, run []byte) (_ []byte, end int) {
	for line := 0; end < len(data); end++ {
		c := data[end]
		switch {
		case inBase64[c]:
			switch c {
			case '-':
				c = '+'
			case '_':
				c = '/'
			}
			run = append(run, c)
			line++
		case (c == '\n' || c == '\r') && (line >= wrapped || line == 0):
			line = 0
		default:
			return run, end + 1
		}
	}
	return run, end
}

func decodeBase64(run, out []byte) []byte {
	if len(run)%4 == 1 { // six bits are no byte
		run = run[:len(run)-1]
	}
	out = slices.Grow(out, base64.RawStdEncoding.DecodedLen(len(run)))
	n, _ := base64.RawStdEncoding.Decode(out[:cap(out)], run) // bits that are left over are no error here
	return out[:n]
}

// fromHex decodes runs of hexadecimal digits, from each of their first two. Between pairs
// may stand what dumps and programs put there.
func fromHex(data []byte) []view {
	d := decoded{form: "hexadecimal"}
	var run, out []byte
	for i, gap := 0, 0; i <= len(data); i++ {
		switch {
		case i == len(data):
		case inHex[data[i]]:
			run, gap = append(run, data[i]), 0
			continue
		case len(run) == 0:
			continue
		case data[i]|0x20 == 'x' && (data[i-1] == '0' || data[i-1] == '\\'):
			if data[i-1] == '0' {
				run = run[:len(run)-1] // of 0x
			}
			continue
		case gap < 3 && inDumps[data[i]] && len(run)%2 == 0:
			gap++
			continue
		}
		if len(run) >= minHex {
			for shift := range 2 {
				out = append(out[:0], run[shift:]...)
				n, _ := hex.Decode(out, out[:len(out)/2*2]) // they are digits
				d.add(out[:n])
			}
		}
		run, gap = run[:0], 0
	}
	return d.views()
}
