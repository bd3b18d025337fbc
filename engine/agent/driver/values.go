package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io"
)

// object is a JSON object in a program's output.
type object map[string]any

// parse reads a line that is one JSON object. Numbers stay as they are written.
func parse(text []byte) (object, bool) {
	if first := bytes.TrimLeft(text, " \t"); len(first) == 0 || first[0] != '{' {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var o object
	if dec.Decode(&o) != nil || o == nil {
		return nil, false
	}
	_, err := dec.Token()
	return o, errors.Is(err, io.EOF)
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

func (o object) flag(key string) bool {
	b, _ := o[key].(bool)
	return b
}

func (o object) object(key string) object {
	m, _ := o[key].(map[string]any)
	return m
}

func (o object) list(key string) []any {
	l, _ := o[key].([]any)
	return l
}

// objects returns the objects in a list.
func (o object) objects(key string) []object {
	var out []object
	for _, item := range o.list(key) {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// number returns an integer; 0 = none.
func (o object) number(key string) int64 {
	n, _ := o[key].(json.Number)
	i, _ := n.Int64()
	return i
}

// first returns the value of the first key that has one.
func (o object) first(keys ...string) any {
	for _, key := range keys {
		if o[key] != nil {
			return o[key]
		}
	}
	return nil
}

// remembered limits the memory of [seen] for programs that never use an ID again.
const remembered = 1 << 16

// seen remembers IDs of tool calls by their hashes, because a program may use IDs of any length.
type seen struct {
	seed maphash.Seed
	ids  map[uint64]bool
}

// add reports whether the ID is new.
func (s *seen) add(id string) bool {
	if s.ids == nil || len(s.ids) >= remembered {
		s.seed, s.ids = maphash.MakeSeed(), map[uint64]bool{}
	}
	key := maphash.String(s.seed, id)
	if s.ids[key] {
		return false
	}
	s.ids[key] = true
	return true
}
