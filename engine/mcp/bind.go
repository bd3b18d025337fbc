package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/seer-engine/seer/sdk"
)

// bind turns the named arguments of a tool call into a Python call. What has a
// name in Python is passed by name; positional-only parameters and *args, which
// have none, are passed by position. Whether the arguments fit is for Python to
// say.
func bind(fn sdk.Function, raw json.RawMessage) (args []any, kwargs map[string]any, err error) {
	given := map[string]json.RawMessage{}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, nil, fmt.Errorf("the arguments of %s must be a JSON object: %w", fn.Name, err)
		}
	}
	kwargs = map[string]any{}
	rest, err := varPositional(fn, given)
	if err != nil {
		return nil, nil, err
	}
	leading := 0
	for i, p := range fn.Params {
		if positional(p, len(rest) > 0) && (provided(given, p) || len(rest) > 0) {
			leading = i + 1
		}
	}
	for i, p := range fn.Params {
		switch {
		case p.Kind == sdk.VarPositional:
			args = append(args, rest...)
		case p.Kind == sdk.VarKeyword:
			if err := spread(fn, p, given, kwargs); err != nil {
				return nil, nil, err
			}
		case positional(p, len(rest) > 0) && i < leading:
			v, err := positionalValue(fn, p, given)
			if err != nil {
				return nil, nil, err
			}
			args = append(args, v)
		case provided(given, p):
			kwargs[p.Name] = given[p.Name]
		}
		delete(given, p.Name)
	}
	for name, v := range given {
		kwargs[name] = v
	}
	return args, kwargs, nil
}

func provided(given map[string]json.RawMessage, p sdk.Param) bool {
	_, ok := given[p.Name]
	return ok
}

// positional reports whether p must be passed by position: always, or because
// values for *args follow it.
func positional(p sdk.Param, restFollows bool) bool {
	return p.Kind == sdk.PositionalOnly || (restFollows && p.Kind == sdk.PositionalOrKeyword)
}

func varPositional(fn sdk.Function, given map[string]json.RawMessage) ([]any, error) {
	for _, p := range fn.Params {
		if p.Kind != sdk.VarPositional || !provided(given, p) {
			continue
		}
		var values []json.RawMessage
		if err := json.Unmarshal(given[p.Name], &values); err != nil {
			return nil, fmt.Errorf("%s of %s takes a list of values", p.Name, fn.Name)
		}
		rest := make([]any, len(values))
		for i, v := range values {
			rest[i] = v
		}
		return rest, nil
	}
	return nil, nil
}

// positionalValue is the argument for p, or its default when a later position is
// given.
func positionalValue(fn sdk.Function, p sdk.Param, given map[string]json.RawMessage) (any, error) {
	if v, ok := given[p.Name]; ok {
		return v, nil
	}
	if p.HasDefault && len(p.Default) > 0 {
		return p.Default, nil
	}
	return nil, fmt.Errorf("%s needs %s, because arguments after it are passed by position", fn.Name, p.Name)
}

// spread adds the extra keywords that were given under the name of **kwargs.
func spread(fn sdk.Function, p sdk.Param, given map[string]json.RawMessage, kwargs map[string]any) error {
	raw, ok := given[p.Name]
	if !ok {
		return nil
	}
	var extra map[string]json.RawMessage
	if err := json.Unmarshal(raw, &extra); err != nil {
		return fmt.Errorf("%s of %s takes an object", p.Name, fn.Name)
	}
	for name, v := range extra {
		kwargs[name] = v
	}
	return nil
}
