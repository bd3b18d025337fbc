package python

import (
	"regexp"
	"slices"
	"strings"
)

// Annotation is source text for an annotation under `from __future__ import
// annotations`, which keeps it from being evaluated. Text that is not plainly a
// type expression (`<class 'x'>`) becomes a string, for it must still parse.
func Annotation(text string) string {
	if _, ok := parseType(text); ok {
		return text
	}
	return String(text)
}

func parseType(text string) (typeNode, bool) {
	p := typeParser{rest: text}
	n := p.expression()
	return n, !p.bad && p.rest == ""
}

var (
	spaceToken  = regexp.MustCompile(`^ +`)
	nameToken   = regexp.MustCompile(`^[\p{L}_][\p{L}_\p{Nd}]*`)
	numberToken = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?`)
	stringToken = regexp.MustCompile(`^('[^'\\\p{C}]*'|"[^"\\\p{C}]*")`)
)

// typeParser accepts the part of Python's expressions that types are written in:
// a.b[c, [d], "e", 1] | None.
type typeParser struct {
	rest  string
	bad   bool
	depth int
}

func (p *typeParser) token(re *regexp.Regexp) (string, bool) {
	t := re.FindString(p.rest)
	if t == "" {
		return "", false
	}
	p.rest = p.rest[len(t):]
	p.rest = p.rest[len(spaceToken.FindString(p.rest)):]
	return t, true
}

func (p *typeParser) symbol(s string) bool {
	if !strings.HasPrefix(p.rest, s) {
		return false
	}
	p.rest = p.rest[len(s):]
	p.rest = p.rest[len(spaceToken.FindString(p.rest)):]
	return true
}

func (p *typeParser) expression() typeNode {
	if p.depth++; p.depth > 50 {
		p.bad = true
	}
	defer func() { p.depth-- }()
	var parts []typeNode
	for !p.bad {
		parts = append(parts, p.primary())
		if !p.symbol("|") {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return typeNode{union: parts}
}

func (p *typeParser) primary() typeNode {
	switch {
	case p.symbol("..."):
		return typeNode{literal: "..."}
	case p.symbol("["):
		return typeNode{args: p.list(true)}
	}
	if text, ok := p.token(stringToken); ok {
		return typeNode{literal: text}
	}
	if text, ok := p.token(numberToken); ok {
		return typeNode{literal: text}
	}
	n := typeNode{name: p.name()}
	for !p.bad {
		switch {
		case p.symbol("."):
			n.name += "." + p.name()
		case p.symbol("["):
			n.args = p.list(false)
		default:
			return n
		}
	}
	return n
}

func (p *typeParser) name() string {
	name, ok := p.token(nameToken)
	valid := IsName(name) || slices.Contains([]string{"None", "True", "False"}, name)
	p.bad = p.bad || !ok || !valid
	return name
}

// list reads what is between brackets, and the closing one.
func (p *typeParser) list(mayBeEmpty bool) []typeNode {
	if mayBeEmpty && p.symbol("]") {
		return nil
	}
	var items []typeNode
	for !p.bad {
		items = append(items, p.expression())
		if p.symbol("]") {
			return items
		}
		if !p.symbol(",") {
			p.bad = true
		}
	}
	return items
}
