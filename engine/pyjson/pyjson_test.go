package pyjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/seer-engine/seer/engine/pyjson"
)

func TestWordsOfPython(t *testing.T) {
	for text, valid := range map[string]bool{
		`{"a":[0.0,Infinity]}`:        true,
		`NaN`:                         true,
		` [NaN,Infinity , -Infinity]`: true,
		`{"NaN":"Infinity, \"NaN\" \\","b":[NaN]}`: true,
		`{"a":[1e400,12345678901234567890,-0.0]}`:  true,
		`[NaN,-0.270182818284590452e-314159265]`:   false, // it would come back as another
		`[nan]`:                                    false,
		`[-NaN]`:                                   false,
		`[+Infinity]`:                              false,
		`[NaN1]`:                                   false,
		`[1NaN]`:                                   false,
		`{NaN:1}`:                                  false,
		`["NaN`:                                    false,
		`["\`:                                      false,
		``:                                         false,
		`[-0.270182818284590452e-314159265,"NaN"]`:    true,
		`[-0.270182818284590452e-314159265,"\u0041"]`: true,
	} {
		strict, back := pyjson.Strict([]byte(text))
		if json.Valid(strict) != valid {
			t.Errorf("%s is %s", text, strict)
		}
		if got := back(strict); string(got) != text {
			t.Errorf("%s came back as %s", text, got)
		}
	}
}

func FuzzStrict(f *testing.F) {
	for _, text := range []string{`{"a":[NaN,-Infinity,Infinity,"NaN"]}`, `"\"NaN`, `[1e5,true,null,-NaN]`, `{"é\\":InfinityInfinity}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		strict, back := pyjson.Strict(data)
		if json.Valid(data) && !bytes.Equal(strict, data) {
			t.Errorf("%q became %q", data, strict)
		}
		if got := back(strict); !bytes.Equal(got, data) {
			t.Errorf("%q came back as %q", data, got)
		}
	})
}
