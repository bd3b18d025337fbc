package experiment

import (
	"fmt"
	"strings"
)

// Reference is the documentation of every field, as Markdown tables.
func Reference() string {
	r := &reference{}
	r.section("", Fields(), "")
	r.WriteString("\n## The staged form\n\n" +
		"Older files have the sandbox's fields at the top. They are read as the canonical form; a file that\n" +
		"has `sandbox` as well is refused. All other keys are those above.\n\n")
	r.rows("", stagedFields(), "*")
	return r.String()
}

type reference struct{ strings.Builder }

// section is the table of one mapping, followed by those of the mappings in it.
func (r *reference) section(title string, fields []Field, path string) {
	if title != "" {
		fmt.Fprintf(r, "\n## `%s`\n\n", title)
	}
	r.rows(path, fields, "")
	for _, f := range fields {
		at := join(path, f.Key)
		switch {
		case f.Kind == KindMaps, f.Kind == KindPairs:
			r.section(at+"[]", f.Fields, at+".*")
		case f.Fields != nil && f.Kind == KindMap:
			r.section(strings.ReplaceAll(at, ".*.", "[]."), f.Fields, at)
		}
	}
}

// rows writes a table; inner fields follow their mapping where inner is set.
func (r *reference) rows(path string, fields []Field, inner string) {
	r.WriteString("| field | value | default | meaning |\n|---|---|---|---|\n")
	for _, f := range fields {
		r.row(path, f, f.Key)
		if inner != "" && f.Kind == KindMap && f.Key == "gpu" {
			for _, g := range f.Fields {
				r.row(f.Key, g, f.Key+"."+g.Key)
			}
		}
	}
}

func (r *reference) row(path string, f Field, key string) {
	fmt.Fprintf(r, "| `%s` | %s | %s | %s |\n", key, cell(valueText(f)), cell(defaultText(f)), cell(f.Doc+exampleText(f)))
}

// cell keeps a | from ending the cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func valueText(f Field) string {
	text := string(f.Kind)
	switch {
	case f.Enum != nil:
		text = "`" + strings.Join(f.Enum, "`, `") + "`"
	case f.Kind == KindMaps && f.Short != "":
		text = "list of strings or mappings"
	case f.Kind == KindPairs:
		text = "list of `[local, remote]` or `{local, remote}`"
	case f.Kind == KindInt && f.Max != 0:
		text = fmt.Sprintf("integer, %d to %d", f.Min, f.Max)
	case f.Kind == KindShare:
		text = fmt.Sprintf("integer, 2 to %d, or text with a unit: `20GB`", maxParts)
	case f.Kind == KindSize:
		text = "number, or text with a unit: `512MB`, `16GB`, `1TB`"
	}
	if f.Nullable {
		text += ", or `null`"
	}
	return text
}

func defaultText(f Field) string {
	switch {
	case f.Required:
		return "**needed**"
	case f.Note != "":
		return f.Note
	case f.Default != "":
		return "`" + f.Default + "`"
	case f.Kind == KindString, f.Kind == KindMap:
		return "–"
	default:
		return "empty"
	}
}

func exampleText(f Field) string {
	if f.Example == "" {
		return ""
	}
	return " Example: `" + f.Example + "`."
}
