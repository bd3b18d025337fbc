package value

import (
	"bytes"
	"io"
	"sort"
)

// WriteCanonical writes the form by which a record knows the arguments of a call: parts
// decoded, sorted keys, no spaces, and of the ways to write a text one; the texts of numbers
// are kept. It is itself a body that can be read, as tagged.
func (v Value) WriteCanonical(w io.Writer) error { return v.writeForm(w, true) }

// WriteOrdered writes the canonical form, but with the keys in the order that they have in
// the value: Python's dicts keep it, so that code can depend on it.
func (v Value) WriteOrdered(w io.Writer) error { return v.writeForm(w, false) }

func (v Value) writeForm(w io.Writer, sorted bool) error {
	n, err := parse(v.JSON)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	appendForm(&text, n, v.reader().tagged, sorted)
	_, err = writeBody(w, text.Bytes(), v.Parts)
	return err
}

// appendForm writes n; a dict that would be taken for a tag becomes the tag of one.
func appendForm(out *bytes.Buffer, n node, tagged, sorted bool) {
	switch n.kind {
	case '{':
		_, has := n.get(Tag)
		if has && !tagged {
			out.WriteString(`{"` + Tag + `":{"dict":`)
		}
		appendObject(out, n, tagged, sorted)
		if has && !tagged {
			out.WriteString(`}}`)
		}
	case '[':
		out.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				out.WriteByte(',')
			}
			appendForm(out, item, tagged, sorted)
		}
		out.WriteByte(']')
	default:
		out.WriteString(n.text)
	}
}

func appendObject(out *bytes.Buffer, n node, tagged, sorted bool) {
	order := make([]int, len(n.keys))
	for i := range order {
		order[i] = i
	}
	if sorted {
		sort.Slice(order, func(i, j int) bool { return n.keys[order[i]] < n.keys[order[j]] })
	}
	out.WriteByte('{')
	for i, at := range order {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(n.keys[at] + ":")
		appendForm(out, n.items[at], tagged, sorted)
	}
	out.WriteByte('}')
}
