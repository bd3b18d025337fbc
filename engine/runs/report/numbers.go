package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// maxExact is the largest size of an integer up to which each one is a float64 of its own.
const maxExact = 1 << 53

// number is a number in a text, with what belongs to it: a version such as 1.2.3 is none.
var number = lazyregexp.New(`[-+−]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?`)

// scalars are the calls whose results are numbers: by text, and by value. A nil call means that
// several have the result.
type scalars struct {
	texts  map[string]*call
	values map[float64]*call
}

func scalarsOf(calls []call) scalars {
	s := scalars{map[string]*call{}, map[float64]*call{}}
	for i := range calls {
		c := &calls[i]
		text := c.Result.Text
		if number().FindString(text) != text || text == "" || significant(text) < 3 {
			continue
		}
		put(s.texts, text, c)
		if v, ok := exact(text); ok {
			put(s.values, v, c)
		}
	}
	return s
}

func put[K comparable](to map[K]*call, key K, c *call) {
	if _, ok := to[key]; ok {
		c = nil
	}
	to[key] = c
}

// find is the one call whose result the number is; nil = none, or several.
func (s scalars) find(text string) *call {
	text = strings.TrimPrefix(strings.Replace(text, "−", "-", 1), "+")
	if significant(text) < 3 {
		return nil
	}
	if v, ok := exact(text); ok { // has all that the texts have, and other spellings of it
		return s.values[v]
	}
	return s.texts[text]
}

// exact is the value of a number that a float64 tells from its neighbours.
func exact(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") && math.Abs(v) >= maxExact {
		return 0, false
	}
	return v, true
}

// significant counts the digits from the first one that is not zero to the last one.
func significant(text string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return len(strings.Trim(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, mantissa), "0"))
}

// numbers finds the numbers in a text: pairs of places. A number that is a part of a word, a
// version, a date or a path is none.
func numbers(text string) [][]int {
	var found [][]int
	for _, at := range number().FindAllStringIndex(text, -1) {
		begin, end := at[0], at[1]
		before, after := text[:begin], text[end:]
		if sign := text[begin]; sign == '-' || sign == '+' || sign > 0x7f {
			if finishes(before, word+".)") { // a difference or a range, not a sign
				continue
			}
		}
		if finishes(before, word+"./-:−") || begins(after, word+"/:") || begins(after, ".-") && len(after) > 1 && strings.ContainsRune(word, rune(after[1])) {
			continue
		}
		found = append(found, at)
	}
	return found
}

const word = "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func finishes(text, with string) bool {
	return text != "" && (strings.HasSuffix(text, "−") || strings.IndexByte(with, text[len(text)-1]) >= 0)
}

func begins(text, with string) bool { return text != "" && strings.IndexByte(with, text[0]) >= 0 }
