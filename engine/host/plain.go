package host

import (
	"strings"
	"unicode"
)

// oneLine makes of a plugin's text what may be shown. A line break would begin a line
// that seems to be somebody else's, a terminal obeys control characters, and marks of
// direction and letters that nobody sees make a text look like another one.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t', r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), strings.ContainsRune(unseen, r), r >= 0xE0000 && r <= 0xE007F:
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// unseen are characters that take room or none and show nothing, though they are no
// spaces: with them a text seems to go on at the beginning of a line.
const unseen = "\u00ad\u115f\u1160\u200b\u2060\u2800\u3164\ufeff\uffa0"

func oneLineEach(texts []string) {
	for i := range texts {
		texts[i] = oneLine(texts[i])
	}
}

// Limits of what an engine keeps of a machine, in its ledger.
const (
	maxHandle = 4 << 10
	maxCursor = 64 << 10
)

// plainHandle reports whether a handle can be kept, compared and shown.
func plainHandle(handle string) bool {
	return len(handle) <= maxHandle && oneLine(handle) == handle
}
