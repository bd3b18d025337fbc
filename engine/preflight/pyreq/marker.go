package pyreq

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// marker decides whether a requirement applies in an environment.
type marker func(env map[string]string) (bool, error)

const maxMarker = 100 // brackets in brackets

// parseMarker reads the part after the semicolon.
func parseMarker(text string) (marker, error) {
	p := &markerParser{rest: text}
	m, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.skip(); p.rest != "" {
		return nil, fmt.Errorf("the marker does not end where %q begins", p.rest)
	}
	return m, nil
}

type markerParser struct{ rest string }

func (p *markerParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t") }

// word takes a keyword, if it comes next.
func (p *markerParser) word(want string) bool {
	p.skip()
	after, ok := strings.CutPrefix(p.rest, want)
	if !ok || after != "" && isWordByte(after[0]) && isWordByte(want[len(want)-1]) {
		return false
	}
	p.rest = after
	return true
}

func isWordByte(b byte) bool {
	return b == '_' || b == '.' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func (p *markerParser) or(depth int) (marker, error)  { return p.chain("or", depth, p.and) }
func (p *markerParser) and(depth int) (marker, error) { return p.chain("and", depth, p.atom) }

// chain reads a row of terms joined by one keyword.
func (p *markerParser) chain(keyword string, depth int, term func(int) (marker, error)) (marker, error) {
	first, err := term(depth)
	if err != nil {
		return nil, err
	}
	terms := []marker{first}
	for p.word(keyword) {
		next, err := term(depth)
		if err != nil {
			return nil, err
		}
		terms = append(terms, next)
	}
	return func(env map[string]string) (bool, error) {
		for _, t := range terms {
			if ok, err := t(env); err != nil || ok == (keyword == "or") {
				return ok, err
			}
		}
		return keyword == "and", nil
	}, nil
}

func (p *markerParser) atom(depth int) (marker, error) {
	if depth > maxMarker {
		return nil, errors.New("the marker has too many brackets")
	}
	if p.word("(") {
		inner, err := p.or(depth + 1)
		if err == nil && !p.word(")") {
			err = errors.New("a bracket of the marker is not closed")
		}
		return inner, err
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	op, err := p.operator()
	if err != nil {
		return nil, err
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	return func(env map[string]string) (bool, error) { return compare(left, op, right, env) }, nil
}

func (p *markerParser) operator() (string, error) {
	for _, op := range []string{"===", "~=", "==", "!=", "<=", ">=", "<", ">", "in"} {
		if p.word(op) {
			return op, nil
		}
	}
	if p.word("not") && p.word("in") {
		return "not in", nil
	}
	return "", fmt.Errorf("an operator is expected before %q", p.rest)
}

// operand is a variable, or a text in quotes.
type operand struct {
	text     string
	variable bool
}

func (p *markerParser) operand() (operand, error) {
	p.skip()
	for _, q := range []string{`"`, `'`} {
		if inner, ok := strings.CutPrefix(p.rest, q); ok {
			text, after, closed := strings.Cut(inner, q)
			if !closed {
				return operand{}, errors.New("a quote of the marker is not closed")
			}
			p.rest = after
			return operand{text: text}, nil
		}
	}
	n := 0
	for n < len(p.rest) && isWordByte(p.rest[n]) {
		n++
	}
	name := strings.ReplaceAll(p.rest[:n], ".", "_")
	if !slices.Contains(markerVariables(), name) {
		return operand{}, fmt.Errorf("%q is not a marker variable", p.rest[:n])
	}
	p.rest = p.rest[n:]
	return operand{text: name, variable: true}, nil
}

func markerVariables() []string {
	return []string{"python_version", "python_full_version", "os_name", "sys_platform", "platform_machine", "platform_release",
		"platform_system", "platform_version", "platform_python_implementation", "implementation_name", "implementation_version", "extra"}
}

func (o operand) value(env map[string]string) (string, error) {
	if !o.variable {
		return o.text, nil
	}
	if v, ok := env[o.text]; ok || o.text == "extra" {
		return v, nil
	}
	return "", fmt.Errorf("%s is not known", o.text)
}

// compare compares as versions where both sides are versions, else as text.
func compare(left operand, op string, right operand, env map[string]string) (bool, error) {
	a, err := left.value(env)
	if err != nil {
		return false, err
	}
	b, err := right.value(env)
	if err != nil {
		return false, err
	}
	switch op {
	case "in":
		return strings.Contains(b, a), nil
	case "not in":
		return !strings.Contains(b, a), nil
	}
	if spec, err := ParseSpecifiers(op + b); err == nil {
		if _, err := ParseVersion(a); err == nil {
			return spec.Contains(a)
		}
	}
	switch op {
	case "==", "===":
		return a == b, nil
	case "!=":
		return a != b, nil
	case "<":
		return a < b, nil
	case "<=":
		return a <= b, nil
	case ">":
		return a > b, nil
	case ">=":
		return a >= b, nil
	}
	return false, fmt.Errorf("%s compares versions, but %q or %q is not a version", op, a, b)
}
