package sdk

import (
	"slices"
	"strings"
)

// Wants reports whether the patterns choose the file at path: a pattern of Include matches
// it, or Include is empty, and no pattern of Exclude matches it. The patterns are those of
// Python's fnmatch, as the clients of the Hugging Face Hub use them: * is any text and ? any
// character, a slash too; [a-c] is one of these characters and [!a-c] none of them; a pattern
// that ends with a slash is everything below that folder. Capitals count.
func (r ModelRef) Wants(path string) bool {
	matches := func(pattern string) bool { return matchPattern(pattern, path) }
	return (len(r.Include) == 0 || slices.ContainsFunc(r.Include, matches)) && !slices.ContainsFunc(r.Exclude, matches)
}

func matchPattern(pattern, path string) bool {
	if strings.HasSuffix(pattern, "/") {
		pattern += "*"
	}
	p, text := []rune(pattern), []rune(path)
	star, from := -1, 0 // the last * and where its text ends: one that is too short is made longer
	i, at := 0, 0
	for at < len(text) {
		if i < len(p) && p[i] == '*' {
			star, from = i, at
			i++
			continue
		}
		if next, ok := matchOne(p, i, text[at]); ok {
			i, at = next, at+1
			continue
		}
		if star < 0 {
			return false
		}
		from++
		i, at = star+1, from
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// matchOne compares a character with what stands at i of the pattern, and returns what
// follows that.
func matchOne(p []rune, i int, r rune) (next int, ok bool) {
	switch {
	case i == len(p):
		return i, false
	case p[i] == '?':
		return i + 1, true
	case p[i] == '[':
		if set, next, closed := characterSet(p, i); closed {
			return next, inSet(set, r)
		}
	}
	return i + 1, p[i] == r
}

// characterSet is what stands between the brackets at i. A bracket that comes first belongs
// to the set, and without one that closes it there is none.
func characterSet(p []rune, i int) (set []rune, next int, closed bool) {
	end := i + 1
	if end < len(p) && p[end] == '!' {
		end++
	}
	if end < len(p) && p[end] == ']' {
		end++
	}
	for end < len(p) && p[end] != ']' {
		end++
	}
	if end >= len(p) {
		return nil, i, false
	}
	return p[i+1 : end], end + 1, true
}

func inSet(set []rune, r rune) bool {
	in := true
	if set[0] == '!' {
		in, set = false, set[1:]
	}
	for len(set) > 0 {
		if len(set) > 2 && set[1] == '-' {
			if set[0] <= r && r <= set[2] {
				return in
			}
			set = set[3:]
			continue
		}
		if set[0] == r {
			return in
		}
		set = set[1:]
	}
	return !in
}
