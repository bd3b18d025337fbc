package ssh

import (
	"fmt"
	"strings"
)

// quote makes one command line of argv for a POSIX shell.
func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if word != "" && strings.Trim(word, plain+"./:,@+-") == "" {
			words[i] = word
			continue
		}
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// remote is the command line that has a POSIX shell on the host run a script, whatever the
// shell is that reads the line first. To that the script is one word in single quotes, with
// nothing in it that fish or csh would change; printf makes the script out of it.
func remote(script string) string {
	var b strings.Builder
	for i := range len(script) {
		if c := script[i]; strings.IndexByte(plain+" ./:,@+=-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return `exec /bin/sh -c 'eval "$(printf "` + b.String() + `")"'`
}
