package pyreq

import (
	"fmt"
	"slices"
	"strings"
)

// Specifiers is a set such as >=1.24,<3: all of them must hold.
type Specifiers []specifier

type specifier struct {
	op, text string
	version  Version
	prefix   bool // == 1.2.*
}

func (s Specifiers) String() string {
	parts := make([]string, len(s))
	for i, one := range s {
		parts[i] = one.op + one.text
	}
	return strings.Join(parts, ",")
}

// ParseSpecifiers reads a comma-separated set; an empty text is the set that
// every version is in.
func ParseSpecifiers(text string) (Specifiers, error) {
	var set Specifiers
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		one, err := parseSpecifier(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		set = append(set, one)
	}
	return set, nil
}

func parseSpecifier(text string) (specifier, error) {
	for _, op := range []string{"===", "~=", "==", "!=", "<=", ">=", "<", ">"} {
		rest, ok := strings.CutPrefix(text, op)
		if !ok {
			continue
		}
		s := specifier{op: op, text: strings.TrimSpace(rest)}
		if op == "===" {
			if s.text == "" {
				return s, fmt.Errorf("%q names no version", text)
			}
			return s, nil
		}
		return s.parse()
	}
	return specifier{}, fmt.Errorf("%q does not begin with an operator such as >= or ==", text)
}

func (s specifier) parse() (specifier, error) {
	text := s.text
	if base, ok := strings.CutSuffix(text, ".*"); ok && (s.op == "==" || s.op == "!=") {
		s.prefix, text = true, base
	}
	var err error
	if s.version, err = ParseVersion(text); err != nil {
		return s, err
	}
	switch {
	case s.prefix && (s.version.IsPre() || s.version.post >= 0 || s.version.local != nil):
		return s, fmt.Errorf("%q: .* may only follow numbers", s.text)
	case s.op == "~=" && len(s.version.release) < 2:
		return s, fmt.Errorf("~=%s needs at least two numbers", s.text)
	case s.version.local != nil && s.op != "==" && s.op != "!=":
		return s, fmt.Errorf("%s%s: a local version can only be compared with == and !=", s.op, s.text)
	}
	return s, nil
}

// Contains reports whether an installed version is in the set. A pre-release
// that is already installed counts, as it does for pip.
func (s Specifiers) Contains(installed string) (bool, error) {
	for _, one := range s {
		if one.op == "===" {
			if !strings.EqualFold(one.text, strings.TrimSpace(installed)) {
				return false, nil
			}
			continue
		}
		v, err := ParseVersion(installed)
		if err != nil {
			return false, err
		}
		if !one.holds(v) {
			return false, nil
		}
	}
	return true, nil
}

func (s specifier) holds(v Version) bool {
	switch s.op {
	case "==":
		return s.equal(v)
	case "!=":
		return !s.equal(v)
	case ">=":
		return v.comparePublic(s.version) >= 0
	case "<=":
		return v.comparePublic(s.version) <= 0
	case "<":
		return s.less(v)
	case ">":
		return s.greater(v)
	default: // ~=
		prefix := Version{epoch: s.version.epoch, release: s.version.release[:len(s.version.release)-1], post: -1, dev: -1}
		return v.comparePublic(s.version) >= 0 && hasPrefix(v, prefix)
	}
}

func (s specifier) equal(v Version) bool {
	switch {
	case s.prefix:
		return hasPrefix(v, s.version)
	case s.version.local == nil:
		return v.comparePublic(s.version) == 0
	default:
		return v.Compare(s.version) == 0
	}
}

// less keeps 3.1.dev0 out of <3.1, as PEP 440 asks.
func (s specifier) less(v Version) bool {
	if v.comparePublic(s.version) >= 0 {
		return false
	}
	return s.version.IsPre() || !v.IsPre() || compareRelease(v.release, s.version.release) != 0 || v.epoch != s.version.epoch
}

// greater keeps 3.1.post0 and 3.1+local out of >3.1.
func (s specifier) greater(v Version) bool {
	if v.comparePublic(s.version) <= 0 {
		return false
	}
	sameBase := v.epoch == s.version.epoch && compareRelease(v.release, s.version.release) == 0
	return !sameBase || v.local == nil && (v.post < 0 || s.version.post >= 0)
}

func hasPrefix(v, prefix Version) bool {
	if v.epoch != prefix.epoch {
		return false
	}
	release := slices.Clone(v.release)
	for len(release) < len(prefix.release) {
		release = append(release, 0)
	}
	return slices.Equal(release[:len(prefix.release)], prefix.release)
}
