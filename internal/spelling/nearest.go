package spelling

import "strings"

// Nearest is the name that word is most likely a mistyped form of; empty = none is like it.
func Nearest(word string, names []string) string {
	best, distance := "", 1+max(1, min(len(word)/3, 3))
	for _, name := range names {
		if d := Distance(strings.ToLower(word), name); d < distance {
			best, distance = name, d
		}
	}
	return best
}
