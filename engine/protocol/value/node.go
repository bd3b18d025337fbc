package value

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Tag is the key of an object that says what JSON cannot.
const Tag = "$seer"

const maxDepth = 4000

// node is a piece of JSON, with numbers' and strings' texts as they came.
type node struct {
	kind  byte     // '{', '[', '"' and '0' for numbers, true, false and null
	text  string   // of '"' in its normal form, with the quotes; of '0' as it came
	keys  []string // in their normal form
	items []node
}

// parse reads JSON. What is in memory already is not copied.
func parse(data []byte) (node, error) {
	if !utf8.Valid(data) {
		return node{}, malformed("its JSON is not UTF-8")
	}
	if !json.Valid(data) {
		return node{}, malformed("its JSON is not valid")
	}
	p := parser{rest: string(data)}
	return p.value(0)
}

// parser takes valid JSON apart, so that there is nothing to check.
type parser struct{ rest string }

func (p *parser) space() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
}

// next is the first byte after white space, which it skips.
func (p *parser) next() byte {
	p.space()
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

func (p *parser) value(depth int) (node, error) {
	if depth > maxDepth {
		return node{}, malformed("it is nested too deeply")
	}
	p.space()
	switch p.rest[0] {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		return node{kind: '"', text: normal(p.quoted())}, nil
	}
	end := strings.IndexAny(p.rest, ",]} \t\r\n")
	if end < 0 {
		end = len(p.rest)
	}
	n := node{kind: '0', text: p.rest[:end]}
	p.rest = p.rest[end:]
	return n, nil
}

func (p *parser) list(depth int) (node, error) {
	n := node{kind: '['}
	p.rest = p.rest[1:]
	for p.space(); p.rest[0] != ']'; {
		item, err := p.value(depth + 1)
		if err != nil {
			return node{}, err
		}
		n.items = append(n.items, item)
		if p.space(); p.rest[0] == ',' {
			p.rest = p.rest[1:]
		}
	}
	p.rest = p.rest[1:]
	return n, nil
}

func (p *parser) object(depth int) (node, error) {
	n := node{kind: '{'}
	p.rest = p.rest[1:]
	for p.space(); p.rest[0] != '}'; {
		key := normal(p.quoted())
		p.next() // the colon
		item, err := p.value(depth + 1)
		if err != nil {
			return node{}, err
		}
		n.keys, n.items = append(n.keys, key), append(n.items, item)
		if p.space(); p.rest[0] == ',' {
			p.rest = p.rest[1:]
			p.space()
		}
	}
	p.rest = p.rest[1:]
	return n.unique(), nil
}

// unique drops all but the last of the same keys, as Python does.
func (n node) unique() node {
	if len(n.keys) < 2 {
		return n
	}
	at := make(map[string]int, len(n.keys))
	for i, k := range n.keys {
		at[k] = i
	}
	if len(at) == len(n.keys) {
		return n
	}
	out := node{kind: '{'}
	for i, k := range n.keys {
		if at[k] == i {
			out.keys, out.items = append(out.keys, k), append(out.items, n.items[i])
		}
	}
	return out
}

func (p *parser) quoted() string {
	for i := 1; ; i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '"':
			text := p.rest[:i+1]
			p.rest = p.rest[i+1:]
			return text
		}
	}
}

// get is a field of an object.
func (n node) get(key string) (node, bool) {
	for i, k := range n.keys {
		if k == `"`+key+`"` {
			return n.items[i], true
		}
	}
	return node{}, false
}

// at is a field of an object, or the zero node, which is missing.
func (n node) at(key string) node {
	field, _ := n.get(key)
	return field
}
