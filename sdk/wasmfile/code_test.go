package wasmfile

import (
	"bytes"
	"slices"
	"testing"
)

// body is a module with one function whose instructions these are, and two locals.
func body(instructions ...byte) []byte {
	function := append([]byte{1, 2, 0x7f}, append(instructions, 0x0b)...)
	return append(slices.Clone(header), section(sectionCode, append([]byte{1, byte(len(function))}, function...)...)...)
}

func TestMost(t *testing.T) {
	for name, c := range map[string]struct {
		instructions []byte
		want         Complexity
	}{
		"nothing":                 {nil, Complexity{Locals: 2, Bytes: 4}},
		"a block and a loop":      {[]byte{0x02, 0x40, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b}, Complexity{Branches: 3, Loops: 1, Locals: 2, Bytes: 12}},
		"if and else":             {[]byte{0x41, 1, 0x04, 0x40, 0x05, 0x0b}, Complexity{Branches: 2, Locals: 2, Bytes: 10}},
		"a table of branches":     {[]byte{0x0e, 2, 0, 0, 0}, Complexity{Branches: 3, Locals: 2, Bytes: 9}},
		"numbers like loops":      {[]byte{0x41, 0x03, 0x43, 3, 3, 3, 3, 0x44, 3, 3, 3, 3, 3, 3, 3, 3, 0x42, 0x83, 0x03}, Complexity{Locals: 2, Bytes: 23}},
		"memory, calls and casts": {[]byte{0x28, 2, 3, 0x10, 3, 0x11, 3, 3, 0x1c, 1, 0x7f, 0xfc, 10, 3, 3, 0xd2, 3}, Complexity{Locals: 2, Bytes: 21}},
		"vectors":                 {append([]byte{0xfd, 12}, append(bytes.Repeat([]byte{3}, 16), 0xfd, 84, 0, 3, 3, 0xfd, 21, 3)...), Complexity{Locals: 2, Bytes: 30}},
	} {
		if got, err := Most(body(c.instructions...)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, instructions := range map[string][]byte{
		"atomics": {0xfe, 0x10, 2, 0}, "a table without an end": {0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f}, "half a number": {0x44, 1}, "a long number": append([]byte{0x41}, bytes.Repeat([]byte{0x80}, 20)...),
	} {
		if _, err := Most(body(append([]byte{0x41}, append([]byte{0}, instructions...)...)...)); err == nil {
			t.Errorf("%s passed", name)
		}
	}
}

func TestLimitFunctions(t *testing.T) {
	code := body(0x02, 0x40, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b)
	exact := Complexity{Branches: 3, Loops: 1, Locals: 2, Bytes: 12}
	if err := LimitFunctions(code, exact, exact.Work()); err != nil {
		t.Error(err)
	}
	for _, c := range []Complexity{{2, 1, 2, 12}, {3, 0, 2, 12}, {3, 1, 1, 12}, {3, 1, 2, 11}} {
		if LimitFunctions(code, c, 1000) == nil {
			t.Errorf("%+v is no limit", c)
		}
	}
	if LimitFunctions(code, exact, exact.Work()-1) == nil {
		t.Error("the work is not limited")
	}
}

func FuzzMost(f *testing.F) {
	f.Add(body(0x02, 0x40, 0x0b))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := Most(b); err == nil && (c.Bytes > len(b) || c.Branches > len(b) || c.Loops > c.Branches) {
			t.Errorf("%+v in %d bytes", c, len(b))
		}
	})
}
