package workspace

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// maxOutline is how many functions and classes the prompt lists of a library.
const maxOutline = 40

// definition is a function or class at the top level of a module.
type definition struct {
	name string
	head string // "def mean(values: list) -> float", "class Probe(Base)"
	doc  string // the first paragraph of its documentation, on one line
}

var definitionHead = lazyregexp.New(`^(?:async[ \t]+def|def|class)[ \t]+([A-Za-z_]\w*)`)

// definitions are those of a module that are meant for others: they begin with no _.
func definitions(source string) []definition {
	if !utf8.ValidString(source) {
		return nil
	}
	source = strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
	s := &scanner{text: strings.ReplaceAll(source, "\r", "\n")}
	var all []definition
	for s.at < len(s.text) {
		if m := definitionHead().FindStringSubmatch(s.text[s.at:]); m != nil {
			if d := (definition{name: m[1]}); s.head(&d) && !strings.HasPrefix(d.name, "_") {
				all = append(all, d)
			}
		}
		s.skip(func(c byte) bool { return c == '\n' })
		s.at++
	}
	return all
}

// head reads a definition up to its colon, and what documents it behind that.
func (s *scanner) head(d *definition) bool {
	start := s.at
	s.skip(func(c byte) bool { return c == ':' || c == '\n' })
	d.head = strings.Join(strings.Fields(s.text[start:min(s.at, len(s.text))]), " ")
	if s.peek() != ':' {
		return false
	}
	body := &scanner{text: s.text, at: s.at + 1}
	if doc, ok := body.statement(); ok {
		first, _, _ := strings.Cut(cleaned(doc), "\n\n")
		d.doc = strings.Join(strings.Fields(first), " ")
	}
	return true
}

// skip goes on to the first character that is wanted and stands outside of brackets,
// strings and comments.
func (s *scanner) skip(wanted func(byte) bool) {
	for depth := 0; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\'' || c == '"':
			s.pass(string(c))
		case c == '#':
			for s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
				s.at++
			}
		case c == '\\':
			s.at++
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(0, depth-1)
		case depth == 0 && wanted(c):
			return
		}
	}
}

// pass goes to the last quote of a string, or stays at one that is not closed.
func (s *scanner) pass(mark string) {
	if three := strings.Repeat(mark, 3); strings.HasPrefix(s.text[s.at:], three) {
		mark = three
	}
	start := s.at
	s.at += len(mark)
	if _, ok := s.body(mark); !ok {
		s.at = start + 1
	}
	s.at--
}

// outline is the functions and classes of a module, as the prompt lists them; "" where it
// has none.
func outline(source string) string {
	all := definitions(source)
	var b strings.Builder
	for i, d := range all {
		if i == maxOutline {
			fmt.Fprintf(&b, "- … and %d more\n", len(all)-i)
			break
		}
		line := "- `" + strings.TrimPrefix(d.head, "def ") + "`"
		if d.doc != "" {
			line += ": " + d.doc
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
