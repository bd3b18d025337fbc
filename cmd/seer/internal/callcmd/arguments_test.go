package callcmd

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzCallArguments(f *testing.F) {
	for _, seed := range [][2]string{{"", "a=1"}, {`{"a":1}`, "b=x"}, {"[1,2]", "k={}"}, {"null", "="}, {"", "a==b"}, {`{"a"`, ""}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, pair string) {
		args, kwargs, err := callArguments(text, []string{pair})
		if err != nil {
			return
		}
		key, value, _ := strings.Cut(pair, "=")
		if _, ok := kwargs[key]; !ok {
			t.Errorf("%q was lost", pair)
		}
		if s, ok := kwargs[key].(string); ok && s != value {
			t.Errorf("%q became %q", value, s)
		}
		if !utf8.ValidString(text) || !utf8.ValidString(pair) {
			return
		}
		if _, err := json.Marshal(map[string]any{"args": args, "kwargs": kwargs}); err != nil {
			t.Errorf("%q %q cannot be sent: %v", text, pair, err)
		}
	})
}
