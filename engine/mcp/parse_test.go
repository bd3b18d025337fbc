package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestIndexesAreReadAsNumPyWritesThem(t *testing.T) {
	for given, want := range map[string]string{
		"3": "3", "-1": "-1", "0:10": `{"slice":[0,10,null]}`, "::-1": `{"slice":[null,null,-1]}`, ":": `{"slice":[null,null,null]}`,
		"..., 0": `{"at":["...",0]}`, "[0:3, 1]": `{"at":[{"slice":[0,3,null]},1]}`, "[1, 5]": "[1,5]", "[True, False], 0": `{"at":[[true,false],0]}`,
		"None": "null", "price": `"price"`, `"a, b"`: `"a, b"`, "'0'": `"0"`, "3,": "3", "a:b": `"a:b"`, ":, newaxis": `{"at":[{"slice":[null,null,null]},null]}`,
	} {
		key, err := parseIndex(given)
		got, _ := json.Marshal(key)
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", given, got, err, want)
		}
	}
	for _, given := range []string{"", "1,,2", "[1", "1]", `"a`, "[1.5]", "[[1]]", `["a"]`, "a, b", strings.Repeat("0,", 100)} {
		if key, err := parseIndex(given); err == nil {
			t.Errorf("%q became %v", given, key)
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	for _, s := range []string{"0:10, ..., [1, 5]", `"a, b"`, "::-1", "None", "[True]", "[0:3]", "]["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := parseIndex(s)
		if err != nil {
			return
		}
		if _, err := json.Marshal(key); err != nil {
			t.Errorf("%q became %v, which cannot be sent: %v", s, key, err)
		}
	})
}
