package value

import (
	"fmt"
	"slices"
	"strings"
)

// frame writes a list of records, each with the index first, if there is one.
func (p *plainWriter) frame(r reader, f frameNode) error {
	var keys []string
	columns := levels(f.index, f.names)
	for i := range columns {
		keys = append(keys, indexName(f.names, i, len(columns)))
	}
	for i, column := range f.columns.items {
		key, err := label(r, column)
		if err != nil {
			return err
		}
		keys, columns = append(keys, key), append(columns, f.data.items[i])
	}
	rows, count, bytes, err := p.rows(r, columns)
	if err != nil {
		return err
	}
	if p.o.Shorten > 0 && bytes > p.o.Shorten {
		return p.put(quote(fmt.Sprintf("table of %d rows: ", count) + strings.Join(keys, ", ")))
	}
	return p.all('[', ']', count, func(int) error {
		return p.all('{', '}', len(rows), func(i int) error {
			p.out.WriteString(keys[i] + ":")
			return rows[i]()
		})
	})
}

// series writes a list of values, or of pairs of an index and a value.
func (p *plainWriter) series(r reader, s seriesNode) error {
	columns := append(slices.Clone(levels(s.index, s.names)), s.data)
	rows, count, bytes, err := p.rows(r, columns)
	if err != nil {
		return err
	}
	if p.o.Shorten > 0 && bytes > p.o.Shorten {
		return p.put(quote(fmt.Sprintf("series of %d values", count)))
	}
	return p.all('[', ']', count, func(int) error {
		if len(rows) == 1 {
			return rows[0]()
		}
		return p.all('[', ']', len(rows), func(i int) error { return rows[i]() })
	})
}

// rows gives, for each column, what writes its next value, and how many bytes their
// arrays have.
func (p *plainWriter) rows(r reader, columns []node) (next []func() error, count int, bytes int64, err error) {
	for _, column := range columns {
		if count, err = r.length(column); err != nil {
			return nil, 0, 0, err
		}
		if column.kind == '[' {
			at := 0
			next = append(next, func() error { at++; return p.write(r, column.items[at-1]) })
			continue
		}
		v, _, err := r.tag(column)
		if err != nil {
			return nil, 0, 0, err
		}
		a, _ := v.(Array) // length has seen that it is one
		size, err := ItemSize(a.DType)
		if err != nil {
			return nil, 0, 0, err
		}
		bytes += int64(len(a.Data))
		w := &arrayWriter{write: a.writer(), size: size, rest: a.Data}
		next = append(next, func() error { return p.nested(w, nil) })
	}
	return next, count, bytes, nil
}

// label is the name of a column as a key.
func label(r reader, n node) (string, error) {
	p := newPlainWriter(PlainOptions{})
	if err := p.write(r, n); err != nil {
		return "", err
	}
	if text := p.out.String(); text[0] == '"' {
		return text, nil
	}
	return quote(p.out.String()), nil
}

func indexName(names node, i, count int) string {
	if i < len(names.items) && names.items[i].kind == '"' {
		return names.items[i].text
	}
	if count > 1 {
		return quote("level_" + string(rune('0'+i%10)))
	}
	return quote("index")
}
