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
	var call struct {
		Args   json.RawMessage `json:"args"`
		Kwargs json.RawMessage `json:"kwargs"`
		Tagged bool            `json:"tagged"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return value.Value{}, err
	}
	if call.Args == nil {
		call.Args = json.RawMessage("[]")
	}
	if call.Kwargs == nil {
		call.Kwargs = json.RawMessage("{}")
	}
	data, err := json.Marshal(map[string]json.RawMessage{"args": call.Args, "kwargs": call.Kwargs})
	if err != nil {
		return value.Value{}, err
	}
	return value.Parse(data, call.Tagged, value.Limits{})
}
