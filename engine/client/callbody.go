package client

import (
	"bytes"
	"encoding/json"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// arguments are what a call takes, as they travel. What encoding/json writes as it is
// meant takes the short way.
func arguments(r CallRequest) (Body, error) {
	if r.Body != nil {
		return *r.Body, nil
	}
	args, kwargs := r.Args, r.Kwargs
	if args == nil {
		args = []any{}
	}
	if kwargs == nil {
		kwargs = map[string]any{}
	}
	if simple(args, kwargs) {
		data, err := json.Marshal(callBody{Args: args, Kwargs: kwargs})
		if err != nil {
			return Body{}, protocol.Errorf(protocol.Invalid, "the arguments of %s cannot be written as JSON: %v", r.Function, err)
		}
		return Body{Data: data}, nil
	}
	v, err := value.Arguments(args, kwargs)
	if err != nil {
		return Body{}, protocol.Errorf(protocol.Invalid, "the arguments of %s cannot be sent: %v", r.Function, err)
	}
	return Body{Data: v.Bytes(), Tagged: v.Tagged}, nil
}

// simple reports whether there are only values without tags.
func simple(args []any, kwargs map[string]any) bool {
	for _, v := range args {
		if !simpleValue(v) {
			return false
		}
	}
	for _, v := range kwargs {
		if !simpleValue(v) {
			return false
		}
	}
	return true
}

func simpleValue(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, int, int64, json.Number:
		return true
	case json.RawMessage:
		return !bytes.Contains(v, []byte(value.Tag))
	}
	return false
}

type callBody struct {
	Args   []any          `json:"args"`
	Kwargs map[string]any `json:"kwargs"`
}
