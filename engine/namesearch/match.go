package namesearch

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxGap   = 4 // bytes between two tokens of a name
	certain  = 8 // letters and digits of a sequence that is found inside longer words, too
	certain1 = 6 // the same of a single word
	around   = 8 // bytes on each side of a short name that must be text
)

// pattern is a sequence of tokens, between which up to [maxGap] bytes stand that are
// neither letters nor digits.
type pattern struct {
	tokens  []string
	anchor  int  // the token to look for first: the longest one
	bounded bool // no letter or digit may stand beside it
	short   bool // it is only found in text: random bytes would have it, too
	foreign bool
}

func newPattern(tokens []token) pattern {
	p := pattern{}
	size := 0
	for i, t := range tokens {
		p.tokens = append(p.tokens, t.text)
		size += utf8.RuneCountInString(t.text)
		p.foreign = p.foreign || len(t.text) != utf8.RuneCountInString(t.text)
		if len(t.text) > len(p.tokens[p.anchor]) {
			p.anchor = i
		}
	}
	p.bounded = size < certain1 || len(tokens) > 1 && size < certain
	p.short = size < certain1
	return p
}

// In reports whether a text has a name in it as it stands, in any case and with any
// separators.
func (n Names) In(text []byte) bool {
	found := false
	if len(text) < 2 {
		return false
	}
	n.each(text, func(_, _ int) bool { found = true; return false })
	return found
}

// Replace puts a word in the place of each name in a text.
func (n Names) Replace(text, by string) string {
	for range len(text) + 1 { // what is put in could make a name with what stands beside it
		at, end := -1, -1
		n.each([]byte(text), func(from, to int) bool { at, end = from, to; return false })
		if at < 0 {
			return text
		}
		if end > len(text) { // of a foreign name the places are those of its composed form
			return by
		}
		text = text[:at] + by + text[end:]
	}
	return by
}

// each calls yield for the places of names until it returns false. Of foreign names the
// places are only right where the text is in Unicode's composed form already.
func (n Names) each(text []byte, yield func(from, to int) bool) {
	lower := lowered(text)
	var composed []byte
	for _, p := range n.patterns {
		in, as := lower, text
		if p.foreign {
			if composed == nil {
				composed = bytes.ToLower(norm.NFC.Bytes(text))
			}
			in, as = composed, composed
		}
		if !p.each(in, as, yield) {
			return
		}
	}
}

func (p pattern) each(lower, text []byte, yield func(from, to int) bool) bool {
	anchor := []byte(p.tokens[p.anchor])
	for at := 0; ; {
		i := bytes.Index(lower[at:], anchor)
		if i < 0 {
			return true
		}
		at += i
		if from, to, ok := p.around(lower, at); ok && p.fits(text, from, to) && !yield(from, to) {
			return false
		}
		at++
	}
}

// around finds the other tokens beside the anchor at a place.
func (p pattern) around(lower []byte, at int) (from, to int, ok bool) {
	from, to = at, at+len(p.tokens[p.anchor])
	for _, t := range slices.Backward(p.tokens[:p.anchor]) {
		end := from
		for end > 0 && from-end < maxGap && !alnum(lower[end-1]) {
			end--
		}
		if !bytes.HasSuffix(lower[:end], []byte(t)) {
			return 0, 0, false
		}
		from = end - len(t)
	}
	for _, t := range p.tokens[p.anchor+1:] {
		start := to
		for start < len(lower) && start-to < maxGap && !alnum(lower[start]) {
			start++
		}
		if !bytes.HasPrefix(lower[start:], []byte(t)) {
			return 0, 0, false
		}
		to = start + len(t)
	}
	return from, to, true
}

// fits looks at what stands beside a place: a digit beside a digit makes another number,
// and a letter beside a short name another word, but for a capital of camel case.
func (p pattern) fits(text []byte, from, to int) bool {
	var before, after byte
	if from > 0 {
		before = text[from-1]
	}
	if to < len(text) {
		after = text[to]
	}
	first, last := text[from], text[to-1]
	if digit(before) && digit(first) || digit(after) && digit(last) {
		return false
	}
	if p.bounded {
		if letter(before) && letter(first) && !(lowerCase(before) && upperCase(first)) {
			return false
		}
		capital := upperCase(after) && (lowerCase(last) || to+1 < len(text) && lowerCase(text[to+1]))
		if letter(after) && letter(last) && !capital {
			return false
		}
	}
	return !p.short || p.foreign || inText(text[max(0, from-around):from], text[to:min(len(text), to+around)])
}

// inText reports whether a place is one of a text: both of its sides are, or one of them
// beyond doubt, as in a file that has texts and numbers.
func inText(before, after []byte) bool {
	clear := func(side []byte) bool { return len(side) >= around/2 && odd(side) == 0 }
	return isText(before) && isText(after) || clear(before) || clear(after)
}

// isText reports whether most of some bytes are printable.
func isText(data []byte) bool { return odd(data)*4 <= len(data) }

// odd counts the bytes that are not printable.
func odd(data []byte) (n int) {
	for _, c := range data {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c >= 0x7f {
			n++
		}
	}
	return n
}

// lowered is a text with the capitals of ASCII in lower case; every byte keeps its place.
func lowered(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		if c-'A' < 26 {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

func digit(c byte) bool     { return c-'0' < 10 }
func lowerCase(c byte) bool { return c-'a' < 26 }
func upperCase(c byte) bool { return c-'A' < 26 }
func letter(c byte) bool    { return (c|0x20)-'a' < 26 }
func alnum(c byte) bool     { return letter(c) || digit(c) }

// String lists the patterns, for tests and messages to the user.
func (n Names) String() string {
	var all []string
	for _, p := range n.patterns {
		all = append(all, strings.Join(p.tokens, " "))
	}
	return strings.Join(all, ", ")
}
