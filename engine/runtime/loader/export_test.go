package loader

import "strings"

// Modules are joined in this order.
func Modules() []string { return modules }

// Source is the loader as people read it, and Bare as a machine gets it.
func Source() string { return source() }

func Bare() string { return bare(source()) }

// CommandWith is [Command] with lines of the loader replaced: pairs of old and new. A test
// switches a defence off with it. It panics if a line is not there.
func CommandWith(python string, pairs ...string) []string {
	text := source()
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			panic("the loader has no single " + pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return command(python, text)
}
