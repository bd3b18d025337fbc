// Package lazyregexp has regular expressions that are compiled when they are first used. The program
// has a hundred of them, and compiling them all would take a third of the start of each command.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New is the regular expression of a text. A wrong text panics when it is first used. It is safe
// for concurrent use.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
