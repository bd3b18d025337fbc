package experiment

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func validNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

func validName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name[:1], "-._") &&
		!strings.ContainsFunc(name, func(r rune) bool { return !validNameRune(r) })
}

// validFolder reports whether a clone may have the name: of any language, and with spaces.
func validFolder(name string) bool {
	if name == "" || len(name) > maxFolder || strings.HasSuffix(name, " ") || strings.ContainsAny(name[:1], "-. ") {
		return false
	}
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+ ", r)
	})
}

const maxFolder = 200 // bytes

func isControl(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
