package callproxy

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTopLevel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"args":[1],"timeout_seconds":2.5,"tagged":true}`:             "2.5 true",
		`{"timeout_seconds" : 1e3 , "args":["\"timeout_seconds\":7"]}`: "1e3 ",
		`{"args":[{"timeout_seconds":7}],"kwargs":{"tagged":true}}`:    " ",
		`{"args":[],"timeout_seconds":"5","tagged":[true]}`:            " ",
		`{"a\"tagged":true,"tagged":false}`:                            " false",
		`{"timeout_seconds":` + strings.Repeat("1", 100) + `,"x":1`:    " ",
		`{"tagged":true`: " true",
		"":               " ", "[": " ", `"tagged":true`: " ", "}{": " ", `{"tagged":true}{"timeout_seconds":1}`: "1 true",
	} {
		found, err := topLevel(strings.NewReader(text), "timeout_seconds", "tagged")
		if got := found["timeout_seconds"] + " " + found["tagged"]; err != nil || got != want {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
}

// FuzzTopLevel compares with what encoding/json reads.
func FuzzTopLevel(f *testing.F) {
	f.Add(`{"args":["a\\\"b",{"tagged":1}],"timeout_seconds":2,"tagged":true}`)
	f.Add(`{"tagged":null , "timeout_seconds":-1.5e3}`)
	f.Add(`{"tagged":{"tagged":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		found, err := topLevel(strings.NewReader(text), "timeout_seconds", "tagged")
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]json.RawMessage
		if strings.Contains(text, `\u`) || json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		for _, key := range []string{"timeout_seconds", "tagged"} {
			value := string(want[key])
			if len(value) > maxScanned || value != "" && strings.ContainsAny(value[:1], `"[{`) || strings.Count(text, `"`+key+`"`) > 1 {
				continue
			}
			if found[key] != value {
				t.Fatalf("%s is %q, want %q", key, found[key], value)
			}
		}
	})
}
