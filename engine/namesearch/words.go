package namesearch

import (
	_ "embed"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// kind says how much a token of a name tells by itself.
type kind int

const (
	number kind = iota // 3, 7b, v0, mini: a version or a size
	field              // instruct, lora: says what kind of model it is, not which
	common             // secret, google: ordinary words, and organisations that are everywhere
	own                // zephyr: the name's own word
)

// weight is what a token adds to a sequence; [enough] makes the sequence a pattern.
var weight = map[kind]int{number: 2, field: 0, common: 3, own: 4}

const (
	enough     = 6
	minWord    = 4  // letters of a word that is a pattern by itself
	minForeign = 2  // the same, in a script whose characters are syllables or words
	minCommon  = 10 // letters of a sequence of common words alone
	minWhole   = 6  // letters and digits of a whole name of common words
)

//go:embed common.txt
var commonText string

//go:embed field.txt
var fieldText string

// token is a part of a name: zephyr, 9b, instruct.
type token struct {
	text  string // in lower case, in Unicode's composed form
	kind  kind
	stays bool // the architecture tells it
	glued bool // no separator stands before it: Deep|Seek
}

// splitter splits names, with the words that decide on a token's kind.
type splitter struct{ field, common, stay map[string]bool }

func newSplitter(stay []string) splitter {
	s := splitter{field: wordSet(fieldText), common: wordSet(commonText), stay: map[string]bool{}}
	for _, text := range stay {
		for _, group := range letterGroups(text) {
			for _, piece := range group {
				s.stay[piece] = true
			}
			s.stay[strings.Join(group, "")] = true
		}
	}
	return s
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// tokens splits a segment of a name at separators, between letters and digits, and at
// the capitals of camel case.
func (s splitter) tokens(segment string) []token {
	var all []token
	for _, group := range letterGroups(segment) {
		for i, piece := range group {
			all = append(all, token{text: piece, kind: s.kind(piece), stays: s.stay[piece], glued: i > 0})
		}
	}
	return all
}

func (s splitter) kind(text string) kind {
	first := rune(text[0])
	switch {
	case unicode.IsDigit(first), len(text) == 1 && first < unicode.MaxASCII, len(text) > 1 && unicode.IsDigit(rune(text[1])):
		return number
	case sizes[text]:
		return number
	case s.field[text]:
		return field
	case s.common[text]:
		return common
	}
	return own
}

// sizes are words that tell models of one family apart.
var sizes = map[string]bool{"nano": true, "micro": true, "mini": true, "tiny": true, "small": true, "medium": true, "large": true,
	"big": true, "huge": true, "xs": true, "xl": true, "xxl": true}

// letterGroups are the pieces of a text. Pieces between which no separator and no digit
// stands are one group: DeepSeek-V3.1 has [deep seek] [v3] [1].
func letterGroups(text string) [][]string {
	var groups [][]string
	for _, run := range strings.FieldsFunc(norm.NFC.String(text), func(r rune) bool { return !alphanumeric(r) }) {
		for _, part := range splitDigits([]rune(run)) {
			groups = append(groups, splitCapitals(part))
		}
	}
	return groups
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// maxUnit is how many letters after digits belong to them: 7b, 128k, 4bit.
const maxUnit = 3

// splitDigits splits Qwen2 into Qwen and 2, and leaves 7b, 4bit and v3 as they are.
func splitDigits(run []rune) (parts [][]rune) {
	start := 0
	cut := func(at int) {
		if at > start {
			parts, start = append(parts, run[start:at]), at
		}
	}
	for i := 1; i < len(run); i++ {
		before, here := unicode.IsDigit(run[i-1]), unicode.IsDigit(run[i])
		switch {
		case before == here:
		case here && i-start > 1: // v3 has one letter
			cut(i)
		case before && !(len(run)-i <= maxUnit && !containsDigit(run[i:])):
			cut(i)
		}
	}
	cut(len(run))
	return parts
}

func containsDigit(run []rune) bool {
	for _, r := range run {
		if unicode.IsDigit(r) {
			return true
		}
	}
	return false
}

// splitCapitals splits ZephyrQuasar and LLMModel at their capitals, and puts everything
// into lower case.
func splitCapitals(part []rune) (pieces []string) {
	start := 0
	for i := 1; i < len(part); i++ {
		next := i+1 < len(part) && unicode.IsLower(part[i+1])
		if unicode.IsUpper(part[i]) && (unicode.IsLower(part[i-1]) || unicode.IsUpper(part[i-1]) && next) {
			pieces, start = append(pieces, strings.ToLower(string(part[start:i]))), i
		}
	}
	return append(pieces, strings.ToLower(string(part[start:])))
}
