package value

import (
	"bytes"
	"io"
	"sort"
)

// WriteCanonical writes the form by which a record knows the value: parts decoded,
// sorted keys, no spaces, and of the ways to write a text one; the texts of numbers are
// kept. It is itself a body that can be read, as tagged.
func (v Value) WriteCanonical(w io.Writer) error {
	n, err := parse(v.JSON)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	appendCanonical(&text, n, v.reader().tagged)
	_, err = writeBody(w, text.Bytes(), v.Parts)
	return err
}

// appendCanonical writes n; a dict that would be taken for a tag becomes the tag of one.
func appendCanonical(out *bytes.Buffer, n node, tagged bool) {
	switch n.kind {
	case '{':
		_, has := n.get(Tag)
		if has && !tagged {
			out.WriteString(`{"` + Tag + `":{"dict":`)
		}
		appendObject(out, n, tagged)
		if has && !tagged {
			out.WriteString(`}}`)
		}
	case '[':
		out.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				out.WriteByte(',')
			}
			appendCanonical(out, item, tagged)
		}
		out.WriteByte(']')
	default:
		out.WriteString(n.text)
	}
}

func appendObject(out *bytes.Buffer, n node, tagged bool) {
	order := make([]int, len(n.keys))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return n.keys[order[i]] < n.keys[order[j]] })
	out.WriteByte('{')
	for i, at := range order {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(n.keys[at] + ":")
		appendCanonical(out, n.items[at], tagged)
	}
	out.WriteByte('}')
}
