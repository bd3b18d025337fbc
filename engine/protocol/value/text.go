package value

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote is what a string of JSON stands for; half of a surrogate pair becomes U+FFFD.
func unquote(text string) string {
	if !strings.Contains(text, `\`) {
		return text[1 : len(text)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(text), &s) // it is valid
	return s
}

// quote is a string as JSON, in its normal form.
func quote(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for _, r := range s { // what is not UTF-8 comes as U+FFFD
		out = appendRune(out, r)
	}
	return string(append(out, '"'))
}

// normal is a string of JSON with only those escapes that it must have.
func normal(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			out = append(out, text[i])
			i++
			continue
		}
		r, size := escaped(text[i:])
		out = appendRune(out, r)
		i += size
	}
	return string(out)
}

// escaped is what an escape at the beginning of text stands for, and its length. Half
// of a surrogate pair stays one.
func escaped(text string) (rune, int) {
	switch c := text[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default: // a quote, a slash of either kind
		return rune(c), 2
	}
	r := hex4(text[2:])
	if utf16.IsSurrogate(r) && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		if both := utf16.DecodeRune(r, hex4(text[8:])); both != utf8.RuneError {
			return both, 12
		}
	}
	return r, 6
}

func hex4(text string) rune {
	n, _ := strconv.ParseUint(text[:4], 16, 16) // it is valid
	return rune(n)
}

func appendRune(out []byte, r rune) []byte {
	const short = "\bb\ff\nn\rr\tt"
	switch {
	case r == '"' || r == '\\':
		return append(out, '\\', byte(r))
	case r < ' ':
		if i := strings.IndexRune(short, r); i >= 0 {
			return append(out, '\\', short[i+1])
		}
		return fmt.Appendf(out, `\u%04x`, r)
	case utf16.IsSurrogate(r):
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return utf8.AppendRune(out, r)
}
