// Package wasmfile reads what a Wasm binary says about itself (imports, exports,
// custom sections) without compiling it, and appends custom sections.
package wasmfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Module is the outside of a Wasm module.
type Module struct {
	Imports []Import
	Exports []string // names of exported functions
	custom  map[string][]byte
}

// Import is one thing a module needs.
type Import struct {
	Module, Name string
	Func         bool
}

// Custom returns the content of a custom section.
func (m Module) Custom(name string) ([]byte, bool) {
	b, ok := m.custom[name]
	return b, ok
}

// HasExport reports whether the module exports a function of that name.
func (m Module) HasExport(name string) bool {
	for _, have := range m.Exports {
		if have == name {
			return true
		}
	}
	return false
}

const (
	sectionCustom = 0
	sectionImport = 2
	sectionExport = 7
)

var header = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// Parse reads a module. It checks structure only as far as it reads it.
func Parse(b []byte) (Module, error) {
	m := Module{custom: map[string][]byte{}}
	if err := checkHeader(b); err != nil {
		return m, err
	}
	r := reader{b: b[len(header):]}
	for len(r.b) > 0 && r.err == nil {
		id, body := r.byte(), r.bytes()
		if r.err != nil {
			break
		}
		if err := m.section(id, body); err != nil {
			return m, err
		}
	}
	return m, r.err
}

func checkHeader(b []byte) error {
	switch {
	case len(b) < len(header) || !bytes.Equal(b[:4], header[:4]):
		return errors.New("not a Wasm binary")
	case b[6] == 1:
		return errors.New("a Wasm component, where a core module is needed")
	case !bytes.Equal(b[:len(header)], header):
		return fmt.Errorf("of Wasm version %d, where 1 is needed", binary.LittleEndian.Uint32(b[4:8]))
	}
	return nil
}

func (m *Module) section(id byte, body []byte) error {
	r := &reader{b: body}
	switch id {
	case sectionCustom:
		name := r.name()
		if _, twice := m.custom[name]; twice && r.err == nil {
			return fmt.Errorf("two custom sections %q", name)
		}
		m.custom[name] = r.b
	case sectionImport:
		m.imports(r)
	case sectionExport:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			name, kind := r.name(), r.byte()
			r.u32()
			if kind == 0 && r.err == nil {
				m.Exports = append(m.Exports, name)
			}
		}
	}
	return r.err
}

func (m *Module) imports(r *reader) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		imp := Import{Module: r.name(), Name: r.name()}
		switch kind := r.byte(); kind {
		case 0: // function: type index
			imp.Func = true
			r.u32()
		case 1: // table: element type, limits
			r.byte()
			r.limits()
		case 2: // memory
			r.limits()
		case 3: // global: value type, mutability
			r.byte()
			r.byte()
		case 4: // tag: attribute, type index
			r.byte()
			r.u32()
		default:
			r.fail(fmt.Errorf("import of unknown kind %d", kind))
		}
		if r.err == nil {
			m.Imports = append(m.Imports, imp)
		}
	}
}

// AppendCustom adds a custom section at the end of a module.
func AppendCustom(b []byte, name string, content []byte) []byte {
	body := binary.AppendUvarint(nil, uint64(len(name)))
	body = append(body, name...)
	body = append(body, content...)
	out := append(bytes.Clone(b), sectionCustom)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...)
}
