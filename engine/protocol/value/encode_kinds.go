package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// own writes the types that have a tag, and tells whether v is one.
func (e *encoder) own(v any, depth int) (bool, error) {
	switch v := v.(type) {
	case []byte:
		return true, e.tag("bytes", e.buffer(v))
	case time.Time:
		if y := v.Year(); y < 1 || y > 9999 {
			return true, fmt.Errorf("the time %v is not in the years 1 to 9999", v)
		}
		return true, e.tag("datetime", quote(timeText(v)))
	case time.Duration:
		days, rest := divmod(v.Microseconds(), 86400*1e6)
		return true, e.own1(Timedelta{days, rest / 1e6, rest % 1e6})
	case Timedelta:
		return true, e.own1(v)
	case complex128:
		return true, e.fields("complex", depth, "", real(v), "", imag(v))
	case complex64:
		return true, e.fields("complex", depth, "", real(v), "", imag(v))
	case Array:
		return true, e.array(v)
	case Image:
		return true, e.tag("image", fmt.Sprintf(`{"format":%s,"mode":%s,"size":[%d,%d],"buffer":%s}`,
			quote(v.Format), quote(v.Mode), v.Width, v.Height, e.buffer(v.Data)))
	case Frame:
		return true, e.fields("frame", depth, "columns", list(v.Columns), "data", list(v.Data), "index", v.Index,
			"dtypes", texts(v.DTypes), "names", list(v.Names))
	case Series:
		return true, e.fields("series", depth, "name", v.Name, "data", v.Data, "index", v.Index, "dtype", v.DType, "names", list(v.Names))
	case Handle:
		return true, e.handle(v)
	case Text:
		if !v.valid() {
			return true, fmt.Errorf("%q is no %s", shorten(v.Text), v.Kind)
		}
		return true, e.tag(v.Kind, quote(v.Text))
	case Items:
		return true, e.items(v, depth)
	}
	return false, nil
}

func (e *encoder) own1(t Timedelta) error {
	return e.tag("timedelta", fmt.Sprintf("[%d,%d,%d]", t.Days, t.Seconds, t.Microseconds))
}

// fields writes a tag with an object of names and values, or a list where there are no
// names.
func (e *encoder) fields(tag string, depth int, pairs ...any) error {
	e.tagged = true
	ends := "{}"
	if pairs[0] == "" {
		ends = "[]"
	}
	e.out.WriteString(`{"` + Tag + `":{"` + tag + `":` + ends[:1])
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			e.out.WriteByte(',')
		}
		if pairs[i] != "" {
			fmt.Fprintf(&e.out, "%q:", pairs[i])
		}
		if err := e.put(pairs[i+1], depth+1); err != nil {
			return err
		}
	}
	e.out.WriteString(ends[1:] + `}}`)
	return nil
}

func (e *encoder) array(a Array) error {
	if err := a.Check(); err != nil {
		return err
	}
	shape := strings.ReplaceAll(fmt.Sprint(a.Shape), " ", ",")
	device := ""
	if a.Device != "" {
		device = `,"device":` + quote(a.Device)
	}
	return e.tag("array", fmt.Sprintf(`{"dtype":%s,"shape":%s,"buffer":%s,"lib":%s%s}`,
		quote(a.DType), shape, e.buffer(a.Data), quote(a.Lib), device))
}

func (e *encoder) handle(h Handle) error {
	var info struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(h.Info, &info); err != nil || info.ID == "" {
		return errors.New("a handle has no id")
	}
	return e.tag("handle", `{"id":`+quote(info.ID)+`}`)
}

func (e *encoder) items(items Items, depth int) error {
	e.tagged = true
	e.out.WriteString(`{"` + Tag + `":{"items":`)
	pair := func(i int) any { return []any{items[i].Key, items[i].Value} }
	if err := e.list(len(items), pair, depth); err != nil {
		return err
	}
	e.out.WriteString(`}}`)
	return nil
}

// list is never null.
func list(l []any) []any {
	if l == nil {
		return []any{}
	}
	return l
}

func texts(l []string) []any {
	out := make([]any, len(l))
	for i, s := range l {
		out[i] = s
	}
	return out
}
