package wasmfile

import (
	"strings"
	"testing"
)

// imports env.f (function), env.m (memory); exports run
var small = append(append([]byte{}, header...),
	1, 4, 1, 0x60, 0, 0, // one type
	2, 17, 2, 3, 'e', 'n', 'v', 1, 'f', 0, 0, 3, 'e', 'n', 'v', 1, 'm', 2, 0,
)

func sample() []byte {
	b := append([]byte{}, small...)
	b[len(header)+7]++ // the memory's minimum belongs to the section
	b = append(b, 1)
	return append(b, 7, 7, 1, 3, 'r', 'u', 'n', 0, 0)
}

func TestParse(t *testing.T) {
	m, err := Parse(AppendCustom(sample(), "seer.manifest", []byte("id: x")))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Imports) != 2 || !m.Imports[0].Func || m.Imports[1].Func || m.Imports[1].Name != "m" {
		t.Errorf("imports = %+v", m.Imports)
	}
	if !m.HasExport("run") || m.HasExport("walk") {
		t.Errorf("exports = %v", m.Exports)
	}
	if got, ok := m.Custom("seer.manifest"); !ok || string(got) != "id: x" {
		t.Errorf("custom section = %q, %v", got, ok)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"empty":      {nil, "not a Wasm binary"},
		"text":       {[]byte("#!/bin/sh\necho"), "not a Wasm binary"},
		"component":  {[]byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}, "component"},
		"version":    {[]byte{0, 'a', 's', 'm', 2, 0, 0, 0}, "version 2"},
		"truncated":  {sample()[:len(sample())-3], "truncated"},
		"two custom": {AppendCustom(AppendCustom(sample(), "a", nil), "a", nil), "two custom sections"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.in)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample())
	f.Add(AppendCustom(sample(), "seer.manifest", []byte("id: x")))
	f.Add([]byte{0, 'a', 's', 'm', 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		const name = "seer.fuzz"
		if _, taken := m.Custom(name); taken {
			return
		}
		again, err := Parse(AppendCustom(b, name, b))
		if err != nil {
			t.Fatalf("a valid module with one more section: %v", err)
		}
		if got, _ := again.Custom(name); string(got) != string(b) {
			t.Fatal("the added section differs")
		}
	})
}
