package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/v2"

	"github.com/seer-engine/seer/engine/remedy"
)

// delim separates keys inside koanf. It cannot be the dot: a user's own keys,
// as in env, may hold one, and no YAML key that passes the check holds NUL.
const delim = "\x00"

// layers merges the file and the overrides.
type layers struct {
	config *koanf.Koanf
	marks  marks
	errs   Errors
}

// tree is a koanf provider of values that are already parsed.
type tree map[string]any

func (t tree) ReadBytes() ([]byte, error)    { return nil, fmt.Errorf("experiment: tree has no bytes") }
func (t tree) Read() (map[string]any, error) { return t, nil }

func newLayers(s *source) *layers {
	l := &layers{config: koanf.New(delim), marks: s.marks, errs: s.errs}
	root, ok := s.root.(map[string]any)
	if !ok {
		return l
	}
	l.load(tree(root))
	return l
}

func (l *layers) load(t tree) {
	if err := l.config.Load(t, nil); err != nil {
		l.errs = append(l.errs, &Error{Message: err.Error()})
	}
}

// override applies one KEY=VALUE.
func (l *layers) override(assignment string) {
	key, text, ok := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" || strings.ContainsRune(key, 0) || slices.Contains(strings.Split(key, "."), "") {
		l.fail(assignment, "expected KEY=VALUE", "for example sandbox.timeout=2h")
		return
	}
	if strings.TrimSpace(text) == "" {
		l.unset(key)
		return
	}
	s := readSource([]byte(text), key, key)
	for _, e := range s.errs {
		e.Message = strings.Replace(e.Message, "the file", "the value", 1)
		e.asText(key)
		if strings.HasPrefix(strings.TrimSpace(text), "#") {
			e.Message = "YAML takes what begins with # for a comment"
		}
	}
	l.errs = append(l.errs, s.errs...)
	if len(s.errs) > 0 || !l.put(key, s.root) {
		return
	}
	for at := range l.marks {
		if strings.HasPrefix(at, key+".") {
			delete(l.marks, at)
		}
	}
	for at, m := range s.marks {
		l.marks[at] = m
	}
}

// unset removes a field, as if the file did not have it.
func (l *layers) unset(key string) {
	if at := strings.ReplaceAll(key, ".", delim); l.config.Exists(at) {
		l.config.Delete(at)
		if end := strings.LastIndex(at, delim); end > 0 && !l.config.Exists(at[:end]) {
			l.set(at[:end], map[string]any{}) // koanf takes empty parents away, too
		}
	} else if !l.put(key, nil) { // a list has it, or nothing
		return
	}
	for at := range l.marks {
		if at == key || strings.HasPrefix(at, key+".") {
			delete(l.marks, at)
		}
	}
}

// asText says what to do with a text that YAML takes for something else.
func (e *Error) asText(key string) {
	e.Hint, e.Remedies = "quote it to give a text as it is", []remedy.Remedy{{Action: remedy.SetText, Field: key}}
}

// put stores a value at a dotted key. koanf merges mappings; what lies inside
// a list, which koanf takes as one value, is changed here.
func (l *layers) put(key string, value any) bool {
	keys := strings.Split(key, ".")
	for i := 1; i < len(keys); i++ {
		at := strings.Join(keys[:i], delim)
		switch have := l.config.Get(at).(type) {
		case nil, map[string]any:
		case []any:
			list, problem := assign(have, keys[i:], value)
			if problem != "" {
				l.fail(key, problem, "")
				return false
			}
			return l.set(at, list)
		case scalar:
			if !have.null() {
				l.fail(key, fmt.Sprintf("%s is %s, not a mapping", quote(strings.Join(keys[:i], ".")), describe(have)),
					"write it out as a mapping in the file")
				return false
			}
		}
	}
	if value == nil {
		return true
	}
	return l.set(strings.Join(keys, delim), value)
}

func (l *layers) set(at string, value any) bool {
	if err := l.config.Set(at, value); err != nil {
		l.errs = append(l.errs, &Error{Message: err.Error()})
		return false
	}
	return true
}

// assign stores value inside a list; the index after the last appends. nil removes a field.
func assign(list []any, keys []string, value any) (_ []any, problem string) {
	i, err := strconv.Atoi(keys[0])
	if err != nil || i < 0 || i > len(list) {
		return nil, fmt.Sprintf("%s is not an index of a list of %d, counted from 0", quote(keys[0]), len(list))
	}
	if i == len(list) {
		list = append(list, map[string]any{})
	}
	if len(keys) == 1 {
		if list[i] = value; value == nil { // an item is no field
			list[i] = scalar{Tag: "!!null"}
		}
		return list, ""
	}
	switch inner := list[i].(type) {
	case map[string]any:
		list[i], problem = assignIn(inner, keys[1:], value)
	case []any:
		list[i], problem = assign(inner, keys[1:], value)
	default:
		problem = fmt.Sprintf("item %d is %s, not a mapping; write it out as a mapping in the file", i, describe(inner))
	}
	return list, problem
}

func assignIn(m map[string]any, keys []string, value any) (_ map[string]any, problem string) {
	switch {
	case len(keys) == 1 && value == nil:
		delete(m, keys[0])
		return m, ""
	case len(keys) == 1:
		m[keys[0]] = value
		return m, ""
	}
	switch inner := m[keys[0]].(type) {
	case nil:
		m[keys[0]], problem = assignIn(map[string]any{}, keys[1:], value)
	case map[string]any:
		m[keys[0]], problem = assignIn(inner, keys[1:], value)
	case []any:
		m[keys[0]], problem = assign(inner, keys[1:], value)
	default:
		problem = fmt.Sprintf("%s is %s, not a mapping", quote(keys[0]), describe(inner))
	}
	return m, problem
}

func (l *layers) fail(set, message, hint string) {
	l.errs = append(l.errs, &Error{Set: set, Message: message, Hint: hint})
}
