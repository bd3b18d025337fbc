// Package python writes Python source: literals, docstrings, annotations and
// signatures that are valid whatever the served interface contains.
package python

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// String is a Python string literal, in printable ASCII.
func String(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// Docstring is a triple-quoted literal, indented with the code around it, whose
// inspect.getdoc is the cleaned doc.
func Docstring(doc, indent string) string {
	lines := strings.Split(CleanDoc(doc), "\n")
	for i, line := range lines {
		if lines[i] = docLine(line); i > 0 && line != "" {
			lines[i] = indent + lines[i]
		}
	}
	text := strings.Join(lines, "\n")
	if margin(lines[1:]) > len(indent) {
		text = "\n" + indent + text // or Python would take the margin for ours
	}
	if len(lines) > 1 {
		text += "\n" + indent
	} else if body, ok := strings.CutSuffix(CleanDoc(doc), `"`); ok {
		text = docLine(body) + `\"` // not the first of the closing quotes
	}
	return `"""` + text + `"""`
}

// margin is the indentation that all lines with text share; 0 without any.
func margin(lines []string) int {
	found := -1
	for _, line := range lines {
		if text := strings.TrimLeft(line, " \t"); text != "" {
			if indent := len(line) - len(text); found < 0 || indent < found {
				found = indent
			}
		}
	}
	return max(found, 0)
}

func docLine(line string) string {
	var b strings.Builder
	for _, r := range line {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case unicode.IsPrint(r) || r == '\t':
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
	}
	return strings.ReplaceAll(b.String(), `"""`, `\"\"\"`)
}

// CleanDoc does what Python's inspect.cleandoc does: it removes the indentation
// that comes from the code around a docstring.
func CleanDoc(doc string) string {
	lines := strings.Split(strings.ReplaceAll(doc, "\r\n", "\n"), "\n")
	extra := margin(lines[1:])
	lines[0] = strings.TrimLeft(lines[0], " \t")
	for i, line := range lines {
		if i > 0 {
			line = line[min(extra, len(line)):]
		}
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// FromJSON turns a JSON value into a Python literal. The second result is how
// Python's repr shows that literal, as far as that is simple.
func FromJSON(raw json.RawMessage) (literal, repr string, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", "", err
	}
	return value(v, String), value(v, reprString), nil
}

func value(v any, quote func(string) string) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case json.Number:
		return v.String()
	case string:
		return quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = value(e, quote)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for k, e := range v {
			parts = append(parts, quote(k)+": "+value(e, quote))
		}
		slices.Sort(parts) // JSON objects have no order here; the source must not vary
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		panic(fmt.Sprintf("json gave %T", v))
	}
}

// reprString follows Python's choice of quotes.
func reprString(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	var b strings.Builder
	b.WriteString(quote)
	for _, r := range s {
		switch {
		case string(r) == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
	}
	return b.String() + quote
}
