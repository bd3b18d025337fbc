// Package oneline makes short lines of what servers say.
package oneline

import (
	"strings"
	"unicode"
)

// Tidy makes one line of at most that many characters, without a full stop at its end.
func Tidy(text string, most int) string {
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) } // it is shown on a terminal
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), blank), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strings.TrimSuffix(text, ".")
}
