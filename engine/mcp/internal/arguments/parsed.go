package arguments

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Parsed makes lists and objects of those arguments that a client has sent as JSON text
// ("[1,2,3]"). A text stays one where the tool's input schema takes a text, and where the schema
// takes no list or object there. One whose items are wrong is parsed, so that the error is
// about the items.
func Parsed(schema any, raw json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return raw // for others to say
	}
	changed := false
	for name, value := range given {
		text, ok := writtenOut(value)
		if !ok {
			continue
		}
		if one := propertyOf(schema, name); one != nil && fits(one, value) != nil && takes(one, text) {
			given[name], changed = text, true
		}
	}
	if !changed {
		return raw
	}
	parsed, err := json.Marshal(given)
	if err != nil {
		return raw
	}
	return parsed
}

// writtenOut is the list or object that a JSON string has as its text.
func writtenOut(value json.RawMessage) (json.RawMessage, bool) {
	var text string
	if !bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`)) || json.Unmarshal(value, &text) != nil {
		return nil, false
	}
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil, false
	}
	return json.RawMessage(text), true
}

// propertyOf is what an input schema says of one argument; nil where it does not have it.
func propertyOf(schema any, name string) *jsonschema.Resolved {
	data, err := json.Marshal(schema)
	var whole struct {
		Properties map[string]map[string]any `json:"properties"`
		Defs       map[string]any            `json:"$defs"`
	}
	if err != nil || json.Unmarshal(data, &whole) != nil || whole.Properties[name] == nil {
		return nil
	}
	one := whole.Properties[name]
	if whole.Defs != nil {
		one["$defs"] = whole.Defs
	}
	var s jsonschema.Schema
	if data, err = json.Marshal(one); err != nil || json.Unmarshal(data, &s) != nil {
		return nil
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved
}

// takes reports whether the schema takes this list or object, or an empty one.
func takes(schema *jsonschema.Resolved, value json.RawMessage) bool {
	empty := json.RawMessage(`[]`)
	if value[0] == '{' {
		empty = json.RawMessage(`{}`)
	}
	return fits(schema, value) == nil || fits(schema, empty) == nil
}

func fits(schema *jsonschema.Resolved, value json.RawMessage) error {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	return schema.Validate(v)
}
