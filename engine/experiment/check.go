package experiment

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// checker turns the merged tree into plain values that fit the table, and
// reports everything that does not.
type checker struct {
	marks     marks
	errs      Errors
	shortened []string // lists of which items were left out
}

func (c *checker) fail(path, message, hint string) {
	m, name := c.marks.find(path)
	e := &Error{Line: m.line, Column: m.column, Set: m.set, Path: name, Message: message, Hint: hint}
	if m.set != "" && strings.HasPrefix(message, "expected a string") {
		e.asText(m.set)
	}
	c.errs = append(c.errs, e)
}

// mapping checks the keys of a mapping and fills in defaults.
func (c *checker) mapping(path string, in map[string]any, fields []Field) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		f, ok := field(fields, key)
		if !ok {
			c.unknown(path, key, fields)
			continue
		}
		if value := c.value(join(path, key), in[key], f); value != nil {
			out[key] = value
		}
	}
	for _, f := range fields {
		c.complete(path, in, out, f)
	}
	return out
}

// complete handles a field that was left out.
func (c *checker) complete(path string, in, out map[string]any, f Field) {
	if _, given := in[f.Key]; given {
		return
	}
	switch {
	case f.Required:
		c.fail(join(path, f.Key), "this key is missing", "")
	case f.Kind == KindMap && !f.Nullable:
		out[f.Key] = c.mapping(join(path, f.Key), nil, f.Fields)
	case f.Default != "" && f.Default != "null":
		out[f.Key] = c.value(join(path, f.Key), scalar{Tag: defaultTag(f), Text: f.Default}, f)
	}
}

func defaultTag(f Field) string {
	switch f.Kind {
	case KindInt, KindDuration:
		return "!!int"
	case KindBool:
		return "!!bool"
	default:
		return "!!str"
	}
}

func (c *checker) unknown(path, key string, fields []Field) {
	at := join(path, key)
	m, name := c.marks.find(at)
	hint := ""
	if near := nearest(key, fields); near != "" {
		hint = "did you mean " + quote(near) + "?"
	} else if home := elsewhere(key, path); home != "" {
		hint = "it belongs under " + quote(home)
	} else if keys := keysOf(fields); len(keys) > 0 {
		hint = "known here: " + strings.Join(keys, ", ")
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, key), ".")
	c.errs = append(c.errs, &Error{Line: m.line, Column: m.column, Set: m.set, Path: name, Message: "unknown key " + quote(key), Hint: hint})
}

// value checks one value; nil means unset.
func (c *checker) value(path string, v any, f Field) any {
	if sc, ok := v.(scalar); ok && sc.null() {
		return c.null(path, f)
	}
	switch f.Kind {
	case KindMap:
		if m, ok := v.(map[string]any); ok {
			return c.mapping(path, m, f.Fields)
		}
	case KindMaps, KindPairs, KindStrings, KindInts:
		if list, ok := v.([]any); ok {
			return c.list(path, list, f)
		}
	case KindOneOrAll:
		return c.oneOrAll(path, v)
	case KindEnv:
		if m, ok := v.(map[string]any); ok {
			return c.env(path, m)
		}
	case KindFree:
		if m, ok := v.(map[string]any); ok {
			return plain(m)
		}
	case KindFrees:
		if m, ok := v.(map[string]any); ok {
			return c.frees(path, m)
		}
	default:
		if sc, ok := v.(scalar); ok {
			return c.scalar(path, sc, f)
		}
	}
	c.wrong(path, v, wanted(f))
	return nil
}

// null is what an empty value means: nothing asked for where that has a
// meaning, a mistake elsewhere.
func (c *checker) null(path string, f Field) any {
	switch {
	case f.Nullable:
	case f.Kind == KindMap:
		return c.mapping(path, nil, f.Fields)
	case f.Kind == KindMaps, f.Kind == KindStrings, f.Kind == KindInts, f.Kind == KindPairs, f.Kind == KindEnv, f.Kind == KindFree, f.Kind == KindFrees:
	default:
		c.fail(path, "expected "+wanted(f)+", got nothing", "give a value or remove the key")
	}
	return nil
}

func (c *checker) list(path string, list []any, f Field) any {
	out := make([]any, 0, len(list))
	for i, item := range list {
		if v := c.item(join(path, strconv.Itoa(i)), item, f); v != nil {
			out = append(out, v)
		}
	}
	if len(out) < len(list) {
		c.shortened = append(c.shortened, path)
	}
	return out
}

func (c *checker) item(path string, item any, f Field) any {
	switch f.Kind {
	case KindStrings:
		return c.asString(path, item)
	case KindInts:
		if sc, ok := item.(scalar); ok && !sc.null() {
			return c.integer(path, sc, f)
		}
		c.wrong(path, item, "an integer")
	case KindPairs:
		return c.pair(path, item, f)
	case KindMaps:
		if m, ok := item.(map[string]any); ok {
			return c.mapping(path, m, f.Fields)
		}
		if sc, ok := item.(scalar); ok && f.Short != "" && sc.Tag == "!!str" {
			m := c.marks[path]
			c.marks[join(path, f.Short)] = mark{line: m.line, column: m.column, set: m.set, name: m.nameOr(path)}
			return c.mapping(path, map[string]any{f.Short: sc}, f.Fields)
		}
		c.wrong(path, item, itemWanted(f))
	}
	return nil
}

func (m mark) nameOr(path string) string {
	if m.name != "" {
		return m.name
	}
	return path
}

func (c *checker) pair(path string, item any, f Field) any {
	if m, ok := item.(map[string]any); ok {
		return c.mapping(path, m, f.Fields)
	}
	list, ok := item.([]any)
	if !ok || len(list) != 2 {
		c.wrong(path, item, itemWanted(f))
		return nil
	}
	out := map[string]any{}
	for i, key := range []string{"local", "remote"} {
		if text, ok := c.asString(join(path, strconv.Itoa(i)), list[i]).(string); ok {
			out[key] = text
		}
		m, name := c.marks.find(join(path, strconv.Itoa(i)))
		c.marks[join(path, key)] = mark{line: m.line, column: m.column, set: m.set, name: name}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

func (c *checker) oneOrAll(path string, v any) any {
	list, ok := v.([]any)
	if !ok {
		if text := c.asString(path, v); text != nil {
			return []any{text}
		}
		return nil
	}
	if len(list) == 0 {
		c.fail(path, "the list is empty", "name at least one, or remove the key")
		return nil
	}
	return c.list(path, list, Field{Kind: KindStrings})
}

func (c *checker) env(path string, m map[string]any) any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		sc, ok := m[key].(scalar)
		if !ok || sc.null() {
			c.wrong(join(path, key), m[key], "a string, a number, true or false")
			continue
		}
		out[key] = sc.Text
	}
	return out
}

// frees checks that each value is a mapping that can be passed on.
func (c *checker) frees(path string, m map[string]any) any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		inner, ok := m[key].(map[string]any)
		if !ok {
			c.wrong(join(path, key), m[key], "a mapping")
			continue
		}
		value := plain(inner)
		if _, err := json.Marshal(value); err != nil {
			c.fail(join(path, key), "a value is not a number that can be passed on", "write it as text, in quotes")
			continue
		}
		out[key] = value
	}
	return out
}

func (c *checker) wrong(path string, v any, want string) {
	hint := ""
	if _, single := v.(scalar); single && strings.HasPrefix(want, "a list") {
		items := quoteless(v)
		if strings.HasSuffix(path, "command") {
			items = strings.Join(strings.Fields(items), ", ")
		}
		hint = "write it as a list: [" + items + "]"
	}
	c.fail(path, "expected "+want+", got "+describe(v), hint)
}

func quoteless(v any) string {
	text := v.(scalar).Text
	if len(text) > 40 || strings.ContainsAny(text, "\n\r") {
		return "…"
	}
	return text
}
