package pyreq

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Requirement is one package as pip writes it.
type Requirement struct {
	Name       string // normalised: lower case, one - between words
	Extras     []string
	Specifiers Specifiers
	URL        string
	marker     marker // nil = always
}

var (
	namePattern = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`)
	separators  = lazyregexp.New(`[-_.]+`)
)

// Normalize is the name under which a package is looked up.
func Normalize(name string) string {
	return strings.ToLower(separators().ReplaceAllString(name, "-"))
}

// Parse reads a requirement such as numpy>=1.24,<3; python_version >= "3.9".
func Parse(text string) (Requirement, error) {
	rest := strings.TrimSpace(text)
	name := namePattern().FindString(rest)
	if name == "" {
		return Requirement{}, errors.New("it does not begin with a name")
	}
	r := Requirement{Name: Normalize(name)}
	rest = strings.TrimSpace(rest[len(name):])
	var err error
	if rest, err = r.extras(rest); err != nil {
		return r, err
	}
	if url, ok := strings.CutPrefix(rest, "@"); ok {
		return r.url(url)
	}
	specs, mark, marked := strings.Cut(rest, ";")
	if marked {
		if r.marker, err = parseMarker(mark); err != nil {
			return r, err
		}
	}
	specs = strings.TrimSpace(specs)
	if inner, ok := strings.CutPrefix(specs, "("); ok && strings.HasSuffix(inner, ")") {
		specs = strings.TrimSuffix(inner, ")")
	}
	r.Specifiers, err = ParseSpecifiers(specs)
	return r, err
}

func (r *Requirement) extras(rest string) (string, error) {
	inner, ok := strings.CutPrefix(rest, "[")
	if !ok {
		return rest, nil
	}
	list, after, ok := strings.Cut(inner, "]")
	if !ok {
		return "", errors.New("the [ of the extras is not closed")
	}
	for _, word := range strings.Split(list, ",") {
		word = strings.TrimSpace(word)
		if word == "" && strings.TrimSpace(list) == "" {
			continue
		}
		if namePattern().FindString(word) != word || word == "" {
			return "", fmt.Errorf("%q is not an extra", word)
		}
		r.Extras = append(r.Extras, Normalize(word))
	}
	return strings.TrimSpace(after), nil
}

// url reads name @ URL ; marker. The marker is set off by a blank, for a URL may
// hold a semicolon.
func (r Requirement) url(text string) (Requirement, error) {
	url, mark, marked := strings.Cut(strings.TrimSpace(text), " ;")
	r.URL = strings.TrimSpace(url)
	if r.URL == "" {
		return r, errors.New("no URL follows the @")
	}
	var err error
	if marked {
		r.marker, err = parseMarker(mark)
	}
	return r, err
}

// Applies reports whether the requirement's marker holds in an environment of
// PEP 508 variables.
func (r Requirement) Applies(env map[string]string) (bool, error) {
	if r.marker == nil {
		return true, nil
	}
	return r.marker(env)
}
