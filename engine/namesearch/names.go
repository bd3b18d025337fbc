// Package namesearch finds the names of models, whole and in parts, in texts, files,
// archives and processes. The engine uses it for what it puts into a sandbox; the
// runtime uses it inside the sandbox.
package namesearch

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Spec says what to find. It travels to the sandbox as JSON.
type Spec struct {
	// Names are names of models as users write them: google/gemma-2-9b, ./tiny, hub:a/b.
	Names []string `json:"names"`
	// Stay are words that cannot be hidden, such as a model's architecture. A word of a
	// name that is one of them is not a pattern by itself.
	Stay []string `json:"stay,omitempty"`
}

// Names are the patterns of a [Spec]. The zero value finds nothing.
type Names struct {
	spec     Spec
	patterns []pattern
	whole    []pattern
	foreign  bool     // a pattern has other letters than those of ASCII
	Revealed []string // names of which the architecture tells all that could be found
	Shown    []string // words of the other names that the architecture tells
	Common   []string // names that consist of common words only
}

// Compile makes the patterns of names:
//
//   - each word of a name that is neither common nor a word of the field, with four
//     letters or more (of Chinese and the like two);
//   - the shortest sequences of its words, numbers and sizes that tell enough together:
//     llama 3 1, phi 2, secret project;
//   - the whole name, where none of these is in it.
func Compile(spec Spec) Names {
	n := Names{spec: spec}
	s := newSplitter(spec.Stay)
	squeezed := make([]string, len(spec.Stay))
	for i, text := range spec.Stay {
		squeezed[i] = squeeze(text)
	}
	known := map[string]bool{}
	for _, name := range spec.Names {
		m := newMaker(s, squeezed, name)
		found, whole := m.patterns()
		n.add(found, known)
		n.whole = append(n.whole, whole...)
		switch {
		case len(found) > 0:
			n.Shown = append(n.Shown, m.stays()...)
		case len(m.stays()) > 0:
			n.Revealed = append(n.Revealed, name)
		default:
			n.Common = append(n.Common, name)
		}
	}
	slices.Sort(n.Shown)
	n.Shown = slices.Compact(n.Shown)
	return n
}

// add adds the patterns that are not known.
func (n *Names) add(patterns []pattern, known map[string]bool) {
	for _, p := range patterns {
		if key := strings.Join(p.tokens, " "); !known[key] {
			known[key] = true
			n.patterns = append(n.patterns, p)
			n.foreign = n.foreign || p.foreign
		}
	}
}

// Join finds what any of all finds. Its [Names.Spec] is empty.
func Join(all ...Names) (n Names) {
	known := map[string]bool{}
	for _, one := range all {
		n.add(one.patterns, known)
		n.whole = append(n.whole, one.whole...)
	}
	return n
}

// Spec returns what the patterns were made of.
func (n Names) Spec() Spec { return n.spec }

// Empty reports whether there is nothing to find.
func (n Names) Empty() bool { return len(n.patterns) == 0 }

// Whole finds whole names only. It is for vocabularies, which have ordinary words.
func (n Names) Whole() Names {
	w := Names{spec: n.spec, patterns: n.whole}
	w.foreign = slices.ContainsFunc(w.patterns, func(p pattern) bool { return p.foreign })
	return w
}

// segments are the parts of a name between slashes that name the model: its last one and
// that of its organisation. Of a path from the root or from a home only the last one is.
func segments(name string) []string {
	if scheme, rest, ok := strings.Cut(name, ":"); ok && !strings.Contains(scheme, "/") {
		name = rest
	}
	elsewhere := strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "..")
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.Trim(p, ".~") == "" })
	if keep := 2; len(parts) > keep {
		parts = parts[len(parts)-keep:]
	}
	if elsewhere && len(parts) > 1 {
		parts = parts[len(parts)-1:]
	}
	return parts
}

// maker makes the patterns of one name.
type maker struct {
	all  []token
	last int // where the last segment begins in all
	stay []string
	s    splitter
}

func newMaker(s splitter, stay []string, name string) *maker {
	m := &maker{stay: stay, s: s}
	for _, segment := range segments(name) {
		m.last = len(m.all)
		m.all = append(m.all, s.tokens(segment)...)
	}
	return m
}

// stays are the words of the name that the architecture tells.
func (m *maker) stays() (words []string) {
	for _, t := range m.all {
		if t.stays && t.kind == own {
			words = append(words, t.text)
		}
	}
	return words
}

// patterns are those of the name, and those of the whole name.
func (m *maker) patterns() (found, whole []pattern) {
	type span struct{ from, to int }
	var spans []span
	for length := 1; length <= len(m.all); length++ {
		for from := 0; from+length <= len(m.all); from++ {
			to := from + length
			inside := slices.ContainsFunc(spans, func(s span) bool { return from <= s.from && s.to <= to })
			if !inside && m.tells(from, to) {
				spans = append(spans, span{from, to})
				found = append(found, newPattern(m.all[from:to]))
			}
		}
	}
	for _, from := range slices.Compact([]int{m.last, 0}) {
		rest := m.all[from:]
		if !m.isWhole(rest) {
			continue
		}
		whole = append(whole, newPattern(rest))
		if !slices.ContainsFunc(spans, func(s span) bool { return s.from >= from }) {
			found = append(found, whole...)
		}
		break
	}
	return found, whole
}

// isWhole reports whether a whole name can be looked for: common words alone must be long
// enough together.
func (m *maker) isWhole(tokens []token) bool {
	size, words := 0, 0
	for _, t := range tokens {
		size += utf8.RuneCountInString(t.text)
		if t.kind == common || t.kind == own {
			words++
		}
	}
	return words > 0 && len(tokens) > 1 && size >= minWhole && !m.stayed(tokens)
}

// tells reports whether a sequence of tokens is a pattern.
func (m *maker) tells(from, to int) bool {
	tokens := m.all[from:to]
	if m.stayed(tokens) {
		return false
	}
	if len(tokens) == 1 {
		return tokens[0].kind == own && !tokens[0].stays && longEnough(tokens[0].text)
	}
	if m.oneWord(from, to) {
		return true
	}
	sum, size, owns, commons := 0, 0, 0, 0
	for _, t := range tokens {
		sum += weight[t.kind]
		size += utf8.RuneCountInString(t.text)
		switch t.kind {
		case own:
			owns++
		case common:
			commons++
		}
	}
	if tokens[0].kind == field || tokens[len(tokens)-1].kind == field || sum < enough || size < 3 {
		return false
	}
	return owns > 0 || commons > 1 && size >= minCommon
}

// oneWord reports whether the tokens are one word in camel case that tells by itself:
// DeepSeek, MiniLM.
func (m *maker) oneWord(from, to int) bool {
	if m.all[from].glued || to < len(m.all) && m.all[to].glued {
		return false
	}
	word := m.all[from].text
	for _, t := range m.all[from+1 : to] {
		if !t.glued {
			return false
		}
		word += t.text
	}
	return m.s.kind(word) == own && !m.s.stay[word] && longEnough(word)
}

// stayed reports whether what must stay tells the tokens, as gemma2 tells gemma 2.
func (m *maker) stayed(tokens []token) bool {
	text := ""
	for _, t := range tokens {
		text += t.text
	}
	return slices.ContainsFunc(m.stay, func(s string) bool { return strings.Contains(s, text) }) &&
		!slices.ContainsFunc(tokens, func(t token) bool { return t.kind == own && !t.stays && longEnough(t.text) })
}

func longEnough(word string) bool {
	letters := utf8.RuneCountInString(word)
	if len(word) == letters { // ASCII
		return letters >= minWord
	}
	for _, r := range word {
		if r >= 0x2e80 {
			return letters >= minForeign
		}
	}
	return letters >= minWord
}

func squeeze(text string) string {
	var b strings.Builder
	for _, group := range letterGroups(text) {
		for _, piece := range group {
			b.WriteString(piece)
		}
	}
	return b.String()
}
