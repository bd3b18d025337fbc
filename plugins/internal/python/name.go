package python

import (
	"slices"
	"strings"
	"unicode"
)

var keywords = strings.Fields(`False None True and as assert async await break class continue def del elif else
	except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield __debug__`)

// IsName reports whether s can be a variable's name in every Python since 3.8.
func IsName(s string) bool {
	for i, r := range s {
		letter := r == '_' || unicode.IsLetter(r)
		if !letter && (i == 0 || !unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc)) {
			return false
		}
	}
	return s != "" && !slices.Contains(keywords, s)
}

// Name makes a name of s that is not taken, and takes it. Most names come out as
// they are; `class` becomes `class_`.
func Name(s string, taken map[string]bool) string {
	if !IsName(s) {
		s = strings.Map(func(r rune) rune {
			if r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nd, r) {
				return r
			}
			return '_'
		}, s)
		if s == "" || unicode.IsDigit([]rune(s)[0]) {
			s = "_" + s
		}
		if !IsName(s) {
			s += "_"
		}
	}
	for taken[s] {
		s += "_"
	}
	taken[s] = true
	return s
}
