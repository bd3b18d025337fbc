package experiment

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

func validNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

func validName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name[:1], "-._") &&
		!strings.ContainsFunc(name, func(r rune) bool { return !validNameRune(r) })
}

func isControl(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
