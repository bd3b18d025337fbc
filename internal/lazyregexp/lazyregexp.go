// Package lazyregexp has regular expressions that are compiled when they are first used. The program
// has a hundred of them; compiling them all took 8 of the 20 ms in which a command started.
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
