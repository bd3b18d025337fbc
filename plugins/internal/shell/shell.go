// Package shell writes words as a POSIX shell reads them.
package shell

import "strings"

// Quote writes a word so that a shell gives it back: between single quotes nothing has a meaning.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Join quotes words, with spaces between them.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}
