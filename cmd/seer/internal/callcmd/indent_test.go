package callcmd

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestIndented(t *testing.T) {
	row := "[" + strings.TrimSuffix(strings.Repeat("0.5,", 30), ",") + "]"
	for given, want := range map[string]string{
		`{"done":5,"s":"a,b:\"c"}`: `{"done": 5, "s": "a,b:\"c"}`,
		`[]`:                       `[]`,
		`"x"`:                      `"x"`,
		`{"z":` + row + `,"a":[[1,2],[3,4]]}`: `{
  "z": [
    ` + strings.Repeat("0.5, ", 18) + `0.5,
    ` + strings.Repeat("0.5, ", 10) + `0.5
  ],
  "a": [[1, 2], [3, 4]]
}`,
	} {
		if got := string(indentJSON(json.RawMessage(given))); got != want {
			t.Errorf("%s became\n%s\nand not\n%s", given, got, want)
		}
	}
}

func FuzzIndented(f *testing.F) {
	f.Add(`{"a":[1,2,{"b":"\\\",:"}],"a":null}`)
	f.Add(`[[` + strings.Repeat(`"long text",`, 20) + `1]]`)
	f.Fuzz(func(t *testing.T, text string) {
		var want, got bytes.Buffer
		if json.Compact(&want, []byte(text)) != nil {
			return
		}
		shown := indentJSON(json.RawMessage(text))
		if err := json.Compact(&got, shown); err != nil || got.String() != want.String() {
			t.Errorf("%s became %s: %v", text, shown, err)
		}
	})
}
