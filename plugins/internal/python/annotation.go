package python

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// Annotation is source text for an annotation under `from __future__ import
// annotations`, which keeps it from being evaluated at once. Text that is not plainly a
// type expression becomes a string in angle brackets (`<class 'x'>`): no Python
// expression begins with one. typing.get_type_hints, which programs that make tools of
// functions call, evaluates every string that it can.
func Annotation(text string) string {
	if _, ok := parseType(text); ok {
		return text
	}
	if !strings.HasPrefix(text, "<") {
		text = "<" + text + ">"
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

	values int // how many lists of values are around, in which strings are no types
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
	p.bad = p.bad || p.values > 0 // a union is no value, and evaluates its strings
	return typeNode{union: parts}
}

func (p *typeParser) primary() typeNode {
	switch {
	case p.symbol("..."):
		return typeNode{literal: "..."}
	case p.symbol("["):
		return typeNode{args: p.list(true, all)}
	}
	if text, ok := p.token(stringToken); ok {
		if p.values == 0 { // a type by its name, which will be evaluated
			_, plain := parseType(text[1 : len(strings.TrimRight(text, " "))-1])
			p.bad = p.bad || !plain
		}
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
			n.args = p.arguments(n)
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

// arguments reads what is between the brackets behind a name. Strings there are types again,
// even in a list of values: list['f()'] evaluates its string wherever it stands.
func (p *typeParser) arguments(n typeNode) []typeNode {
	defer func(values int) { p.values = values }(p.values)
	p.values = 0
	if n.args != nil { // Annotated[dict[KT, VT], 1][int, 'f()'] puts types into the first ones
		return p.list(false, all)
	}
	return p.list(false, types(n.name))
}

const all = math.MaxInt

// types is how many arguments of a name are types. Those after them are values.
func types(name string) int {
	switch strings.TrimPrefix(name, "typing.") {
	case "Literal":
		return 0
	case "Annotated":
		return 1
	}
	return all
}

// list reads what is between brackets, the first of it types, and the closing one.
func (p *typeParser) list(mayBeEmpty bool, types int) []typeNode {
	if mayBeEmpty && p.symbol("]") {
		return nil
	}
	var items []typeNode
	for !p.bad {
		if len(items) == types {
			p.values++
			defer func() { p.values-- }()
		}
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
