package value

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Decode stores the value in what into points to: an any (then bool, int64, float64,
// json.Number beyond them, string, []any, map[string]any, []byte, complex128, time.Time,
// [Array] and the other types of this package), one of this package's types, or
// whatever encoding/json can fill from the plain JSON.
func (v Value) Decode(into any) error {
	if to, ok := into.(*Value); ok {
		*to = v
		return nil
	}
	r := v.reader()
	if to, ok := into.(*any); ok {
		n, err := parse(v.JSON)
		if err != nil {
			return err
		}
		*to, err = r.read(n)
		return err
	}
	if !r.tagged {
		return json.Unmarshal(v.JSON, into)
	}
	n, err := parse(v.JSON)
	if err != nil {
		return err
	}
	if done, err := r.direct(n, into); done || err != nil {
		return err
	}
	text, err := v.Plain(PlainOptions{})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the value does not fit a %T: %w", into, err)
	}
	return nil
}

// direct fills into if it is of the very type that the value has.
func (r reader) direct(n node, into any) (bool, error) {
	v, err := r.read(n)
	if err != nil {
		return false, err
	}
	switch to := into.(type) {
	case *Array, *Image, *Frame, *Series, *Handle, *Text, *Timedelta, *Items, *complex128, *[]byte:
		return true, assign(reflect.ValueOf(to).Elem(), v)
	case *float64:
		if f, ok := v.(float64); ok {
			*to = f
			return true, nil
		}
	}
	return false, nil
}

func assign(to reflect.Value, v any) error {
	if reflect.TypeOf(v) != to.Type() {
		return fmt.Errorf("the value is a %T, not a %v", v, to.Type())
	}
	to.Set(reflect.ValueOf(v))
	return nil
}

// read is the Go value of n.
func (r reader) read(n node) (any, error) {
	v, tagged, err := r.tag(n)
	switch {
	case err != nil:
		return nil, err
	case tagged:
		return r.goValue(v)
	}
	switch n.kind {
	case '{':
		return r.readMap(n)
	case '[':
		return r.readList(n.items)
	case '"':
		return unquote(n.text), nil
	}
	switch n.text {
	case "null":
		return nil, nil
	case "true", "false":
		return n.text == "true", nil
	}
	return number(n.text), nil
}

// number keeps what is whole exact.
func number(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") {
		return json.Number(text)
	}
	return f
}

func (r reader) readMap(n node) (any, error) {
	out := make(map[string]any, len(n.keys))
	for i, item := range n.items {
		v, err := r.read(item)
		if err != nil {
			return nil, err
		}
		out[unquote(n.keys[i])] = v
	}
	return out, nil
}

func (r reader) readList(items []node) ([]any, error) {
	out := make([]any, len(items))
	for i, item := range items {
		v, err := r.read(item)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// goValue makes what others can use of what tag gave.
func (r reader) goValue(v any) (any, error) {
	switch v := v.(type) {
	case userDict:
		return r.readMap(v.node)
	case itemsNode:
		return r.readItems(v)
	case frameNode:
		return r.readFrame(v)
	case seriesNode:
		return r.readSeries(v)
	case Text:
		if v.Kind == "datetime" {
			for _, layout := range []string{"2006-01-02T15:04:05.999999-07:00", "2006-01-02 15:04:05.999999-07:00"} {
				if t, err := time.Parse(layout, v.Text); err == nil {
					return t, nil
				}
			}
		}
	}
	return v, nil
}

func (r reader) readItems(v itemsNode) (any, error) {
	out := make(Items, len(v.pairs))
	for i, pair := range v.pairs {
		both, err := r.readList(pair)
		if err != nil {
			return nil, err
		}
		out[i] = Item{both[0], both[1]}
	}
	return out, nil
}

func (r reader) readFrame(v frameNode) (any, error) {
	f := Frame{}
	var err error
	if f.Columns, err = r.readList(v.columns.items); err != nil {
		return nil, err
	}
	if f.Data, err = r.readList(v.data.items); err != nil {
		return nil, err
	}
	for _, d := range v.dtypes.items {
		f.DTypes = append(f.DTypes, unquote(d.text))
	}
	f.Index, f.Names, err = r.readIndex(v.index, v.names)
	return f, err
}

func (r reader) readSeries(v seriesNode) (any, error) {
	s := Series{}
	var err error
	if !v.name.missing() {
		if s.Name, err = r.read(v.name); err != nil {
			return nil, err
		}
	}
	if s.Data, err = r.read(v.data); err != nil {
		return nil, err
	}
	if v.dtype.kind == '"' {
		s.DType = unquote(v.dtype.text)
	}
	s.Index, s.Names, err = r.readIndex(v.index, v.names)
	return s, err
}

func (r reader) readIndex(index, names node) (any, []any, error) {
	list, err := r.readList(names.items)
	if err != nil || index.missing() {
		return nil, list, err
	}
	v, err := r.read(index)
	return v, list, err
}
