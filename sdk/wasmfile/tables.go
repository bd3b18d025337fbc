package wasmfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	sectionTable = 4
	maxTables    = 16 // in one module; toolchains make one
)

// LimitTables gives every table of a module a maximum of at most so many entries: a
// host's limit of memory does not hold for tables, which may grow as they like. A module
// that needs more from the beginning is refused. The result is in the memory of b if its
// capacity has room for some more bytes: a module has megabytes.
func LimitTables(b []byte, entries uint32) ([]byte, error) {
	if err := checkHeader(b); err != nil {
		return nil, err
	}
	for at := len(header); at < len(b); {
		r := reader{b: b[at:]}
		id, body := r.byte(), r.bytes()
		if r.err != nil {
			return nil, r.err
		}
		end := len(b) - len(r.b)
		if id == sectionTable {
			limited, err := limitTables(body, entries)
			if err != nil {
				return nil, err
			}
			section := append(binary.AppendUvarint([]byte{id}, uint64(len(limited))), limited...)
			b = slices.Replace(b, at, end, section...)
			end = at + len(section)
		}
		at = end
	}
	return b, nil
}

func limitTables(body []byte, entries uint32) ([]byte, error) {
	r := &reader{b: body}
	n := r.u32()
	if n > maxTables {
		return nil, fmt.Errorf("%d tables, where %d are allowed", n, maxTables)
	}
	out := binary.AppendUvarint(nil, uint64(n))
	for range n {
		kind, flags, least := r.byte(), r.byte(), r.u32()
		most := entries
		if flags == 1 {
			most = min(most, r.u32())
		}
		switch {
		case r.err != nil:
			return nil, r.err
		case kind != 0x70 && kind != 0x6f || flags > 1:
			return nil, errors.New("a table of a kind that is not of WebAssembly 2")
		case least > entries:
			return nil, fmt.Errorf("a table of %d entries, where %d are allowed", least, entries)
		}
		out = append(out, kind, 1)
		out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(least)), uint64(most))
	}
	if len(r.b) > 0 {
		return nil, errors.New("something after the last table")
	}
	return out, nil
}
