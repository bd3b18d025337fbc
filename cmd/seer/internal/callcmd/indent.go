package callcmd

import (
	"bytes"
	"encoding/json"
	"strings"
)

// lineWidth is how long a list or an object may be that stands on one line.
const lineWidth = 100

// indentJSON is JSON for people: what is short stands on one line, and so do several
// numbers of a long list, for a matrix is read by its rows.
func indentJSON(plain json.RawMessage) []byte {
	var out bytes.Buffer
	indent(&out, plain, "")
	return out.Bytes()
}

func indent(out *bytes.Buffer, v json.RawMessage, margin string) {
	v = bytes.TrimSpace(v)
	var compact bytes.Buffer
	if json.Compact(&compact, v) != nil {
		out.Write(v)
		return
	}
	v = compact.Bytes()
	if len(v) < 2 || v[0] != '[' && v[0] != '{' || len(margin)+len(v) <= lineWidth {
		spaced(out, v)
		return
	}
	if v[0] == '[' {
		list(out, v, margin)
	} else {
		object(out, v, margin)
	}
}

// list fills lines with scalars, and gives everything else lines of its own.
func list(out *bytes.Buffer, v json.RawMessage, margin string) {
	var items []json.RawMessage
	if json.Unmarshal(v, &items) != nil {
		out.Write(v)
		return
	}
	deeper, width := margin+"  ", 0
	out.WriteByte('[')
	for i, item := range items {
		scalar := item[0] != '[' && item[0] != '{'
		switch {
		case i > 0 && scalar && width+len(item)+2 <= lineWidth:
			out.WriteString(", ")
			width += len(item) + 2
		default:
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString("\n" + deeper)
			width = len(deeper) + len(item)
		}
		indent(out, item, deeper)
		if !scalar {
			width = lineWidth
		}
	}
	out.WriteString("\n" + margin + "]")
}

// object gives each field a line, in the order that they came in.
func object(out *bytes.Buffer, v json.RawMessage, margin string) {
	d := json.NewDecoder(bytes.NewReader(v))
	deeper := margin + "  "
	_, _ = d.Token() // the brace
	out.WriteByte('{')
	for i := 0; d.More(); i++ {
		start := d.InputOffset()
		if _, err := d.Token(); err != nil {
			return
		}
		key := strings.TrimLeft(string(v[start:d.InputOffset()]), ",")
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + deeper + key + ": ")
		indent(out, value, deeper)
	}
	out.WriteString("\n" + margin + "}")
}

// spaced writes compact JSON with a space behind what separates.
func spaced(out *bytes.Buffer, v json.RawMessage) {
	inString, escaped := false, false
	for _, c := range v {
		out.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':'):
			out.WriteByte(' ')
		}
	}
}
