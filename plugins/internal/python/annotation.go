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
	p := typeParser{rest: text}
	if p.expression(); p.ok() && p.rest == "" {
		return text
	}
	return String(text)
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

func (p *typeParser) ok() bool { return !p.bad }

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

func (p *typeParser) expression() {
	if p.depth++; p.depth > 50 {
		p.bad = true
	}
	defer func() { p.depth-- }()
	for !p.bad {
		p.primary()
		if !p.symbol("|") {
			return
		}
	}
}

func (p *typeParser) primary() {
	switch {
	case p.symbol("..."):
		return
	case p.symbol("["):
		p.list(true)
		return
	}
	if _, ok := p.token(stringToken); ok {
		return
	}
	if _, ok := p.token(numberToken); ok {
		return
	}
	p.name()
	for !p.bad {
		switch {
		case p.symbol("."):
			p.name()
		case p.symbol("["):
			p.list(false)
		default:
			return
		}
	}
}

func (p *typeParser) name() {
	name, ok := p.token(nameToken)
	valid := IsName(name) || slices.Contains([]string{"None", "True", "False"}, name)
	p.bad = p.bad || !ok || !valid
}

// list reads what is between brackets, and the closing one.
func (p *typeParser) list(mayBeEmpty bool) {
	if mayBeEmpty && p.symbol("]") {
		return
	}
	for !p.bad {
		p.expression()
		if p.symbol("]") {
			return
		}
		if !p.symbol(",") {
			p.bad = true
		}
	}
}
