package value

import (
	"encoding/json"
	"strconv"
)

// raw writes JSON of a user, who knows no tags.
func (e *encoder) raw(data json.RawMessage) error {
	n, err := parse(data)
	if err != nil {
		return err
	}
	e.user(n)
	return nil
}

func (e *encoder) user(n node) {
	_, own := n.get(Tag)
	if own {
		e.tagged = true
		e.out.WriteString(`{"` + Tag + `":{"dict":`)
	}
	e.copy(n, e.user)
	if own {
		e.out.WriteString(`}}`)
	}
}

// value writes one that has been read into this one.
func (e *encoder) value(v Value) error {
	r := v.reader()
	if !r.tagged {
		return e.raw(v.JSON)
	}
	n, err := parse(v.JSON)
	if err != nil {
		return err
	}
	if _, err := r.read(n); err != nil { // what is malformed stays where it is
		return err
	}
	e.tagged = true
	e.renumbered(n, int64(len(e.parts)))
	e.parts = append(e.parts, v.Parts...)
	return nil
}

// renumbered writes n with the numbers of its buffers raised.
func (e *encoder) renumbered(n node, by int64) {
	deeper := func(n node) { e.renumbered(n, by) }
	if n.kind != '{' || len(n.keys) != 1 || n.keys[0] != `"`+Tag+`"` {
		e.copy(n, deeper)
		return
	}
	inner := n.items[0]
	name, content := inner.keys[0], inner.items[0]
	e.out.WriteString(`{"` + Tag + `":{` + name + `:`)
	switch unquote(name) {
	case "bytes":
		e.raised(content, by)
	case "array", "image":
		e.copyFields(content, func(key string, field node) {
			if key == `"buffer"` {
				e.raised(field, by)
			} else {
				e.renumbered(field, by)
			}
		})
	default: // of a user's own dict not the dict itself, but what is in it
		e.copy(content, deeper)
	}
	e.out.WriteString(`}}`)
}

func (e *encoder) raised(n node, by int64) {
	i, _ := n.whole() // it has been read
	e.out.WriteString(strconv.FormatInt(i+by, 10))
}

// copy writes n, and what is in it by each.
func (e *encoder) copy(n node, each func(node)) {
	switch n.kind {
	case '[':
		e.out.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				e.out.WriteByte(',')
			}
			each(item)
		}
		e.out.WriteByte(']')
	case '{':
		e.copyFields(n, func(_ string, item node) { each(item) })
	default:
		e.out.WriteString(n.text)
	}
}

func (e *encoder) copyFields(n node, each func(key string, field node)) {
	e.out.WriteByte('{')
	for i, item := range n.items {
		if i > 0 {
			e.out.WriteByte(',')
		}
		e.out.WriteString(n.keys[i] + ":")
		each(n.keys[i], item)
	}
	e.out.WriteByte('}')
}

// buffer is the number that data gets as a part.
func (e *encoder) buffer(data []byte) string {
	e.parts = append(e.parts, data)
	return strconv.Itoa(len(e.parts))
}
