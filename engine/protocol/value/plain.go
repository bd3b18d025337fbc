package value

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// How numbers that JSON does not have are written as plain JSON.
const (
	NaN           = "NaN"
	Infinity      = "Infinity"
	MinusInfinity = "-Infinity"
)

// PlainOptions bound what [Value.Plain] writes.
type PlainOptions struct {
	Limit   int64 // bytes of JSON; beyond it is ErrTooLarge. 0 = none
	Shorten int64 // a buffer of more bytes is told by a text such as "float32 array [1024, 1024], 4194304 bytes"; 0 = none is
}

// Plain is the value as JSON that anybody can read: see the end of section 4. What has
// no tags is returned as it is.
func (v Value) Plain(o PlainOptions) (json.RawMessage, error) {
	var out bytes.Buffer
	if err := v.WritePlain(&out, o); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// WritePlain writes the same to w as it goes.
func (v Value) WritePlain(w io.Writer, o PlainOptions) error {
	r := v.reader()
	if !r.tagged {
		if o.Limit > 0 && int64(len(v.JSON)) > o.Limit {
			return tooLarge(o.Limit)
		}
		if !json.Valid(v.JSON) {
			return malformed("its JSON is not valid")
		}
		_, err := w.Write(v.JSON)
		return err
	}
	n, err := parse(v.JSON)
	if err != nil {
		return err
	}
	p := newPlainWriter(o)
	p.to = w
	if err := p.write(r, n); err != nil {
		return err
	}
	return p.flush()
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the value as JSON is %w of %d bytes", ErrTooLarge, limit)
}

const flushAt = 64 << 10

type plainWriter struct {
	o       PlainOptions
	out     bytes.Buffer
	to      io.Writer // nil: everything stays in out
	written int64
}

func newPlainWriter(o PlainOptions) *plainWriter { return &plainWriter{o: o} }

// checkLimit fails if n more bytes would exceed the limit.
func (p *plainWriter) checkLimit(n int64) error {
	if p.o.Limit > 0 && p.written+int64(p.out.Len())+n > p.o.Limit {
		return tooLarge(p.o.Limit)
	}
	return nil
}

func (p *plainWriter) flush() error {
	if err := p.checkLimit(0); err != nil {
		return err
	}
	if p.to == nil {
		return nil
	}
	n, err := p.out.WriteTo(p.to)
	p.written += n
	return err
}

func (p *plainWriter) put(text string) error {
	p.out.WriteString(text)
	if p.out.Len() < flushAt {
		return nil
	}
	return p.flush()
}

func (p *plainWriter) write(r reader, n node) error {
	v, tagged, err := r.tag(n)
	switch {
	case err != nil:
		return err
	case tagged:
		return p.meaning(r, v)
	case n.kind == '{':
		return p.object(r, n)
	case n.kind == '[':
		return p.list(r, n.items)
	}
	return p.put(n.text)
}

func (p *plainWriter) object(r reader, n node) error {
	return p.all('{', '}', len(n.items), func(i int) error {
		if err := p.put(n.keys[i] + ":"); err != nil {
			return err
		}
		return p.write(r, n.items[i])
	})
}

func (p *plainWriter) list(r reader, items []node) error {
	return p.all('[', ']', len(items), func(i int) error { return p.write(r, items[i]) })
}

// all writes n things with commas between them.
func (p *plainWriter) all(begin, end byte, n int, each func(i int) error) error {
	p.out.WriteByte(begin)
	for i := range n {
		if i > 0 {
			p.out.WriteByte(',')
		}
		if err := each(i); err != nil {
			return err
		}
	}
	return p.put(string(end))
}

// meaning writes what a tag stands for.
func (p *plainWriter) meaning(r reader, v any) error {
	switch v := v.(type) {
	case userDict:
		return p.object(r, v.node)
	case itemsNode:
		return p.all('[', ']', len(v.pairs), func(i int) error { return p.list(r, v.pairs[i]) })
	case Array:
		return p.array(v)
	case []byte:
		return p.binary("", v, fmt.Sprintf("%d bytes", len(v)))
	case Image:
		about := fmt.Sprintf("%s image %dx%d, %d bytes", v.Format, v.Width, v.Height, len(v.Data))
		return p.binary("data:image/"+v.Format+";base64,", v.Data, about)
	case frameNode:
		return p.frame(r, v)
	case seriesNode:
		return p.series(r, v)
	case Handle:
		return p.put(`{"handle":` + string(v.Info) + `}`)
	case float64:
		return p.put(string(appendFloat(nil, v, 64)))
	case bool, int64, json.Number: // of a tensor
		return p.put(fmt.Sprint(v))
	case complex128:
		return p.put(quote(complexText(real(v), imag(v), 64)))
	case Text:
		return p.put(quote(v.Text))
	case Timedelta:
		return p.put(quote(v.String()))
	}
	return malformed("a %T has no plain form", v)
}

func (p *plainWriter) binary(prefix string, data []byte, about string) error {
	if p.o.Shorten > 0 && int64(len(data)) > p.o.Shorten {
		return p.put(quote(about))
	}
	if err := p.checkLimit(int64(base64.StdEncoding.EncodedLen(len(data)))); err != nil {
		return err
	}
	const piece = 30 << 10 // a multiple of three
	for text := `"` + prefix; len(data) > 0 || text != ""; text = "" {
		now := data[:min(piece, len(data))]
		data = data[len(now):]
		if err := p.put(text + base64.StdEncoding.EncodeToString(now)); err != nil {
			return err
		}
	}
	return p.put(`"`)
}

const maxEmptyRows = 1 << 20

func (p *plainWriter) array(a Array) error {
	if p.o.Shorten > 0 && int64(len(a.Data)) > p.o.Shorten {
		shape := strings.ReplaceAll(fmt.Sprint(a.Shape), " ", ", ")
		return p.put(quote(fmt.Sprintf("%s array %s, %d bytes", a.DType, shape, len(a.Data))))
	}
	size, err := ItemSize(a.DType)
	if err != nil {
		return err
	}
	if err := p.checkLimit(2 * int64(len(a.Data)) / size); err != nil {
		return err
	}
	if len(a.Data) == 0 && len(a.Shape) > 0 {
		rows := int64(1)
		for _, n := range a.Shape {
			if rows *= n; rows > maxEmptyRows {
				return fmt.Errorf("an empty array of the shape %v is %w of lists", a.Shape, ErrTooLarge)
			}
			if n == 0 {
				break
			}
		}
	}
	return p.nested(&arrayWriter{write: a.writer(), size: size, rest: a.Data}, a.Shape)
}

// arrayWriter goes through the elements of an array.
type arrayWriter struct {
	write elements
	size  int64
	rest  []byte
	text  []byte
}

func (p *plainWriter) nested(a *arrayWriter, shape []int64) error {
	if len(shape) == 0 {
		a.text = a.write(a.text[:0], a.rest[:a.size])
		a.rest = a.rest[a.size:]
		p.out.Write(a.text)
		if p.out.Len() < flushAt {
			return nil
		}
		return p.flush()
	}
	return p.all('[', ']', int(shape[0]), func(int) error { return p.nested(a, shape[1:]) })
}
