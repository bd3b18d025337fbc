// Package sanitize makes text from a sandbox, a plugin or another stranger safe to show
// on a terminal. A terminal obeys what it is given: it writes the clipboard, changes its
// title, moves the cursor, hides text, and some answer with text that a shell then runs.
//
// Line breaks, tabs and colours pass, and the carriage return of progress bars where the
// caller allows it. Everything else that a terminal obeys, or that a reader cannot see,
// is shown as Go writes it (\x1b, \u202e) or left out. Text without it stays as it is.
//
//   - [Text], [Line], [Flat] and [JSON] are for whole texts: messages, cells of tables, values.
//   - [Printed] is for a line that a program printed, and [Writer] for its output.
//   - [Strip] is for readers that are no terminal: it leaves everything out.
package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text shows what a terminal would obey, and colours too. Line breaks and tabs stay.
func Text(text string) string { return whole(text, "\n\t", escape) }

// Line is Text for a place that has one line, such as a cell of a table.
func Line(text string) string { return whole(text, "", escape) }

// Flat is Line for texts that are compared and kept: a line break or tab is a space, and
// what Line would show is U+FFFD. A text that Flat changes is no plain text.
func Flat(text string) string { return whole(text, "", flatten) }

// JSON escapes in a JSON document what JSON allows to stand there as it is. The document
// decodes to the same value.
func JSON(data []byte) []byte {
	if plainLength(data, "\n\t") == len(data) {
		return data
	}
	return []byte(whole(string(data), "\n\t", escapeJSON))
}

// Hidden reports whether a terminal obeys r, or shows nothing for it: control characters,
// marks of direction, and characters that change how a text reads and are not seen. Joiners
// and variation selectors count as hidden here; the functions of this package let them
// pass where writing systems and emoji need them.
func Hidden(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r < 0x300:
		return r < 0xa0 || r == 0xad
	case r >= 0x3000 && r < 0xd800: // most of what is written in East Asia
		return r == 0x3164
	}
	switch {
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // format characters that are seen
		return false
	case unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), blank(r):
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// blank reports whether r takes room and shows nothing, though it is no space: with such
// characters a text seems to end, or to begin later.
func blank(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0':
		return true
	}
	return false
}

// joins reports whether r may stand behind a character that is not ASCII: without it,
// emoji and several scripts are not what was written. Behind ASCII it only disguises.
func joins(r rune) bool {
	return r == '\u200c' || r == '\u200d' || r == '\ufe0e' || r == '\ufe0f'
}

// mostJoiners is how many joiners an emoji has behind one of its parts.
const mostJoiners = 2

// runes turns characters into what is shown of them. The zero value is at the beginning
// of a text.
type runes struct {
	joiners int // that may follow now
}

// add appends what is shown of r. A character that is not shown as it is goes to instead.
func (s *runes) add(out []byte, r rune, instead func([]byte, rune) []byte) []byte {
	switch {
	case blank(r):
		s.joiners = 0
		return append(out, ' ')
	case joins(r) && s.joiners > 0:
		s.joiners--
		return utf8.AppendRune(out, r)
	case Hidden(r):
		s.joiners = 0
		return instead(out, r)
	}
	s.joiners = 0
	if r >= utf8.RuneSelf {
		s.joiners = mostJoiners
	}
	return utf8.AppendRune(out, r)
}

// escape shows a character as a string of Go has it.
func escape(out []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(out, `\n`...)
	case r == '\t':
		return append(out, `\t`...)
	case r < utf8.RuneSelf:
		return fmt.Appendf(out, `\x%02x`, r)
	case r > 0xffff:
		return fmt.Appendf(out, `\U%08x`, r)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// escapeJSON is for characters within a JSON text. Those below a space are no part of
// its strings.
func escapeJSON(out []byte, r rune) []byte {
	switch {
	case r < ' ':
		return append(out, ' ')
	case r > 0xffff:
		high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

func flatten(out []byte, r rune) []byte {
	switch r {
	case '\n', '\r', '\t', '\u2028', '\u2029':
		return append(out, ' ')
	}
	return utf8.AppendRune(out, utf8.RuneError)
}

func leaveOut(out []byte, _ rune) []byte { return out }

// whole sanitizes a text in which also the characters of keep pass.
func whole(text, keep string, instead func([]byte, rune) []byte) string {
	plain := plainLength(text, keep)
	if plain == len(text) {
		return text
	}
	out := append(make([]byte, 0, len(text)+16), text[:plain]...)
	s := runes{}
	for i, r := range text[plain:] {
		switch {
		case r < ' ' && strings.ContainsRune(keep, r):
			out, s = append(out, byte(r)), runes{}
		case r == utf8.RuneError && !strings.HasPrefix(text[plain+i:], "\ufffd"):
			out, s = append(out, "\ufffd"...), runes{}
		default:
			out = s.add(out, r, instead)
		}
	}
	return string(out)
}

// plainLength is how many bytes at the beginning are printable ASCII or in keep.
func plainLength[T string | []byte](text T, keep string) int {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && strings.IndexByte(keep, c) < 0 {
			return i
		}
	}
	return len(text)
}
