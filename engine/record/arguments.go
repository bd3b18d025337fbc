package record

import (
	"encoding/json"

	"github.com/seer-engine/seer/engine/protocol/value"
)

// arguments reads the body of a call: what may stand beside args and kwargs is no
// part of them.
func arguments(body []byte, tagged bool) (value.Value, error) {
	if len(body) == 0 {
		return value.Arguments(nil, nil)
	}
	if body[0] == 0 || tagged {
		return value.Parse(body, tagged, value.Limits{})
	}
	var call map[string]json.RawMessage // not a struct, for which ARGS would be args
	if err := json.Unmarshal(body, &call); err != nil {
		return value.Value{}, err
	}
	what := map[string]json.RawMessage{"args": json.RawMessage("[]"), "kwargs": json.RawMessage("{}")}
	for name := range what {
		if given, ok := call[name]; ok {
			what[name] = given
		}
	}
	data, err := json.Marshal(what)
	if err != nil {
		return value.Value{}, err
	}
	return value.Parse(data, string(call["tagged"]) == "true", value.Limits{})
}
