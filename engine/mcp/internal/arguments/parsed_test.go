package arguments_test

import (
	"encoding/json"
	"testing"

	"github.com/seer-engine/seer/engine/mcp/internal/arguments"
)

func TestParsed(t *testing.T) {
	schema := json.RawMessage(`{"type": "object", "$defs": {"point": {"type": "object", "required": ["x"]}}, "properties": {
		"numbers": {"type": "array", "items": {"type": "integer"}}, "env": {"type": "object"}, "text": {"type": "string"},
		"either": {"anyOf": [{"type": "array"}, {"type": "string"}]}, "maybe": {"anyOf": [{"type": "array"}, {"type": "null"}]},
		"point": {"$ref": "#/$defs/point"}, "any": {}}}`)
	for given, want := range map[string]string{
		`{"numbers":"[1, 2, 3]"}`:             `{"numbers":[1,2,3]}`,
		`{"numbers":" [12345678901234567] "}`: `{"numbers":[12345678901234567]}`,
		`{"env":"{\"z\":1,\"a\":2}"}`:         `{"env":{"z":1,"a":2}}`,
		`{"numbers":"[\"a\"]"}`:               `{"numbers":["a"]}`, // so that the error names the item
		`{"maybe":"[]"}`:                      `{"maybe":[]}`,
		`{"point":"{\"x\":1}"}`:               `{"point":{"x":1}}`,
		// What stays as it is.
		`{"numbers":[1]}`:         `{"numbers":[1]}`,
		`{"numbers":"{\"a\":1}"}`: `{"numbers":"{\"a\":1}"}`,
		`{"numbers":"[1,"}`:       `{"numbers":"[1,"}`,
		`{"numbers":"1"}`:         `{"numbers":"1"}`,
		`{"text":"[1]"}`:          `{"text":"[1]"}`,
		`{"either":"[1]"}`:        `{"either":"[1]"}`,
		`{"any":"[1]"}`:           `{"any":"[1]"}`,
		`{"unknown":"[1]"}`:       `{"unknown":"[1]"}`,
		`{"point":"{\"y\":1}"}`:   `{"point":"{\"y\":1}"}`,
		`[1]`:                     `[1]`,
	} {
		if got := arguments.Parsed(schema, json.RawMessage(given)); string(got) != want {
			t.Errorf("%s becomes %s, not %s", given, got, want)
		}
	}
}
