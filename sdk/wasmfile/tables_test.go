package wasmfile

import (
	"bytes"
	"strings"
	"testing"
)

func section(id byte, body ...byte) []byte { return append([]byte{id, byte(len(body))}, body...) }

func TestLimitTables(t *testing.T) {
	after := section(7, 0)
	for name, tc := range map[string]struct{ in, want []byte }{
		"no end":        {[]byte{1, 0x70, 0, 3}, []byte{1, 0x70, 1, 3, 100}},
		"a small end":   {[]byte{1, 0x70, 1, 3, 5}, []byte{1, 0x70, 1, 3, 5}},
		"a large end":   {[]byte{1, 0x6f, 1, 0, 0xff, 0xff, 0x7f}, []byte{1, 0x6f, 1, 0, 100}},
		"two":           {[]byte{2, 0x70, 0, 1, 0x6f, 0, 2}, []byte{2, 0x70, 1, 1, 100, 0x6f, 1, 2, 100}},
		"none":          {[]byte{0}, []byte{0}},
		"too large":     {[]byte{1, 0x70, 0, 101}, nil},
		"too many":      {[]byte{17}, nil},
		"typed":         {[]byte{1, 0x63, 0x70, 0, 1}, nil},
		"with a value":  {[]byte{1, 0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b}, nil},
		"of 64 bits":    {[]byte{1, 0x70, 4, 1}, nil},
		"cut":           {[]byte{1, 0x70, 1, 1}, nil},
		"with a remain": {[]byte{1, 0x70, 0, 1, 9}, nil},
	} {
		in := append(append(append([]byte{}, header...), section(4, tc.in...)...), after...)
		for _, room := range []int{0, 64} {
			if got, err := LimitTables(append(make([]byte, 0, len(in)+room), in...), 100); tc.want != nil && (err != nil || !bytes.HasSuffix(got, after)) {
				t.Errorf("%s, with room for %d: %x, %v", name, room, got, err)
			}
		}
		got, err := LimitTables(in, 100)
		if tc.want == nil {
			if err == nil {
				t.Errorf("%s: %x", name, got)
			}
			continue
		}
		want := append(append(append([]byte{}, header...), section(4, tc.want...)...), after...)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, %v, want %x", name, got, err, want)
		}
	}
}

// What has no tables is left as it is, byte by byte; what is cut is refused.
func FuzzLimitTables(f *testing.F) {
	f.Add(append(append([]byte{}, header...), section(4, 1, 0x70, 0, 3)...))
	f.Add(sample())
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := LimitTables(bytes.Clone(b), 100)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		again, err := LimitTables(bytes.Clone(got), 100)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%x becomes %x, %v", got, again, err)
		}
		first, err1 := Parse(b)
		second, err2 := Parse(got)
		if (err1 == nil) != (err2 == nil) || len(first.Imports) != len(second.Imports) || len(first.Exports) != len(second.Exports) {
			t.Errorf("another module: %v, %v", err1, err2)
		}
	})
}
