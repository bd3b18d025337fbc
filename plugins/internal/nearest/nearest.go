// Package nearest finds out what a mistyped name was meant to be.
package nearest

import "strings"

// Of is the name of the list that word was probably meant to be, in words that end a
// sentence: "; did you mean gpu?". It is empty where none is near.
func Of(word string, list []string) string {
	best, least := "", len(word)/2+1
	for _, name := range list {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance counts the letters to change, add or remove between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
