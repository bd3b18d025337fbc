package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Encode writes a Go value: nil, bools, numbers (NaN and infinities too), strings,
// []byte, time.Time, time.Duration, complex numbers, the types of this package, [Value],
// maps and slices of these; what else encoding/json writes, as it writes it.
func Encode(v any) (Value, error) {
	e := &encoder{}
	if err := e.put(v, 0); err != nil {
		return Value{}, err
	}
	return Value{JSON: e.out.Bytes(), Parts: e.parts, Tagged: e.tagged || len(e.parts) > 0}, nil
}

// Arguments is the body of a call.
func Arguments(args []any, kwargs map[string]any) (Value, error) {
	if args == nil {
		args = []any{}
	}
	e := &encoder{}
	e.out.WriteString(`{"args":`)
	if err := e.put(args, 0); err != nil {
		return Value{}, err
	}
	e.out.WriteString(`,"kwargs":`)
	if len(kwargs) == 0 {
		kwargs = map[string]any{}
	}
	if err := e.put(kwargs, 0); err != nil {
		return Value{}, err
	}
	e.out.WriteByte('}')
	return Value{JSON: e.out.Bytes(), Parts: e.parts, Tagged: e.tagged || len(e.parts) > 0}, nil
}

type encoder struct {
	out    bytes.Buffer
	parts  [][]byte
	tagged bool
}

func (e *encoder) put(v any, depth int) error {
	if depth > maxDepth {
		return errors.New("a value is nested too deeply, or contains itself")
	}
	switch v := v.(type) {
	case nil:
		e.out.WriteString("null")
	case bool:
		e.out.WriteString(strconv.FormatBool(v))
	case string:
		e.out.WriteString(quote(v))
	case float64:
		return e.float(v, 64)
	case float32:
		return e.float(float64(v), 32)
	case []any:
		return e.list(len(v), func(i int) any { return v[i] }, depth)
	case map[string]any:
		return e.dict(v, depth)
	case json.RawMessage:
		return e.raw(v)
	case Value:
		return e.value(v)
	default:
		if done, err := e.own(v, depth); done {
			return err
		}
		return e.reflected(v, depth)
	}
	return nil
}

// float writes a number as encoding/json does, or a tag.
func (e *encoder) float(v float64, bits int) error {
	name := ""
	switch {
	case math.IsNaN(v):
		name = "nan"
	case math.IsInf(v, 1):
		name = "inf"
	case math.IsInf(v, -1):
		name = "-inf"
	default:
		data, err := json.Marshal(v)
		if bits == 32 {
			data, err = json.Marshal(float32(v))
		}
		e.out.Write(data)
		return err
	}
	return e.tag("float", quote(name))
}

func (e *encoder) tag(name, content string) error {
	e.tagged = true
	e.out.WriteString(`{"` + Tag + `":{"` + name + `":` + content + `}}`)
	return nil
}

func (e *encoder) list(n int, at func(i int) any, depth int) error {
	e.out.WriteByte('[')
	for i := range n {
		if i > 0 {
			e.out.WriteByte(',')
		}
		if err := e.put(at(i), depth+1); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	e.out.WriteByte(']')
	return nil
}

func (e *encoder) dict(m map[string]any, depth int) error {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	_, own := m[Tag]
	if own {
		e.tagged = true
		e.out.WriteString(`{"` + Tag + `":{"dict":`)
	}
	e.out.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			e.out.WriteByte(',')
		}
		e.out.WriteString(quote(k) + ":")
		if err := e.put(m[k], depth+1); err != nil {
			return fmt.Errorf("[%q]: %w", shorten(k), err)
		}
	}
	e.out.WriteByte('}')
	if own {
		e.out.WriteString(`}}`)
	}
	return nil
}

// reflected writes maps, slices and pointers of what put knows, all else by way of
// encoding/json.
func (e *encoder) reflected(v any, depth int) error {
	r := reflect.ValueOf(v)
	if _, ok := v.(json.Marshaler); !ok {
		switch r.Kind() {
		case reflect.Slice, reflect.Array:
			if r.Kind() == reflect.Slice && r.IsNil() {
				return e.put(nil, depth)
			}
			return e.list(r.Len(), func(i int) any { return r.Index(i).Interface() }, depth)
		case reflect.Pointer, reflect.Interface:
			if r.IsNil() {
				return e.put(nil, depth)
			}
			return e.put(r.Elem().Interface(), depth+1)
		case reflect.Map:
			if r.Type().Key().Kind() == reflect.String && !r.IsNil() {
				m := make(map[string]any, r.Len())
				for _, k := range r.MapKeys() {
					m[k.String()] = r.MapIndex(k).Interface()
				}
				return e.dict(m, depth)
			}
		case reflect.Float32, reflect.Float64:
			return e.float(r.Float(), r.Type().Bits())
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("a %T cannot be sent: %w", v, err)
	}
	return e.raw(data)
}

// timeText is how Python writes a moment.
func timeText(t time.Time) string {
	layout := "2006-01-02T15:04:05-07:00"
	if t.Nanosecond() >= 1000 {
		layout = "2006-01-02T15:04:05.000000-07:00"
	}
	return strings.TrimSpace(t.Format(layout))
}
