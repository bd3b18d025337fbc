package mcp

import (
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seer-engine/seer/engine/protocol"
)

// wrapSchema is the schema of {"result": value}. Definitions stay at the root,
// where references look for them.
func wrapSchema(inner map[string]any) map[string]any {
	outer := map[string]any{
		"type": "object", "properties": map[string]any{resultKey: inner}, "required": []any{resultKey},
	}
	hoist(inner, outer)
	return outer
}

// streamSchema is that of the items of a generator.
func streamSchema(item map[string]any) map[string]any {
	items := map[string]any{"type": "array", "items": item}
	hoist(item, items)
	outer := wrapSchema(items)
	outer["properties"].(map[string]any)["omitted"] = map[string]any{"type": "integer", "description": "how many more items there were"}
	return outer
}

func hoist(from, to map[string]any) {
	if v, ok := from["$defs"]; ok {
		to["$defs"] = v
		delete(from, "$defs")
	}
}

// answerSchema is what clients check an answer against: the result, a handle to it, or
// the state of a call that goes on.
func answerSchema(own map[string]any) map[string]any {
	answer := map[string]any{"type": "object"}
	inner := make(map[string]any, len(own))
	for k, v := range own {
		inner[k] = v
	}
	hoist(inner, answer)
	answer["anyOf"] = []any{inner, handleAnswer(), callAnswer()}
	return answer
}

func handleAnswer() map[string]any {
	return map[string]any{
		"type": "object", "description": "the result is large and stayed in the sandbox",
		"properties": map[string]any{handleKey: map[string]any{
			"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}, "required": []any{"id"},
		}},
		"required": []any{handleKey},
	}
}

func callAnswer() map[string]any {
	return map[string]any{
		"type": "object", "description": "the call continues; " + callResultTool + " waits for it",
		"properties": map[string]any{"call": map[string]any{"type": "string"}, "state": map[string]any{"type": "string"}},
		"required":   []any{"call", "state"},
	}
}

// handleRef is a reference to a handle as an argument.
func handleRef() map[string]any {
	return map[string]any{
		"type": "object", "description": "a value that stayed in the sandbox",
		"properties": map[string]any{handleKey: map[string]any{"type": "string", "pattern": "^h-"}},
		"required":   []any{handleKey}, "additionalProperties": false,
	}
}

// admitHandles lets a handle stand for every argument that may be large. Models keep to
// the schema.
func admitHandles(schema map[string]any) {
	props, _ := schema["properties"].(map[string]any)
	for name, v := range props {
		prop, ok := v.(map[string]any)
		if !ok || len(prop) == 0 || scalar(prop) || admitted(prop, schema["$defs"]) {
			continue
		}
		outer := map[string]any{}
		for _, key := range []string{"description", "title", "default"} {
			if v, ok := prop[key]; ok {
				outer[key] = v
				delete(prop, key)
			}
		}
		outer["anyOf"] = []any{prop, handleRef()}
		props[name] = outer
	}
}

// scalar reports whether only single small values fit the schema.
func scalar(schema map[string]any) bool {
	for _, key := range []string{"anyOf", "oneOf"} {
		options, ok := schema[key].([]any)
		if !ok {
			continue
		}
		for _, o := range options {
			if option, ok := o.(map[string]any); !ok || !scalar(option) {
				return false
			}
		}
		return true
	}
	if schema["enum"] != nil || schema["const"] != nil {
		return true
	}
	kind, _ := schema["type"].(string)
	return strings.Contains("string number integer boolean null", kind) && kind != "" && schema["contentEncoding"] == nil
}

// admitted reports whether a handle fits the schema as it is.
func admitted(prop map[string]any, defs any) bool {
	probe := make(map[string]any, len(prop)+1)
	for k, v := range prop {
		probe[k] = v
	}
	if defs != nil {
		probe["$defs"] = defs
	}
	resolved, err := resolve(probe)
	return err == nil && resolved.Validate(map[string]any{handleKey: "h-0"}) == nil
}

// loosenNumbers admits what a Python float may also be. JSON cannot say it, so
// that it travels as a string; see docs/protocol.md, 4. A client that checks results would
// refuse it otherwise.
func loosenNumbers(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			loosenNumbers(v)
		}
	case map[string]any:
		for _, v := range s {
			loosenNumbers(v)
		}
		if s["type"] == "number" {
			number := map[string]any{}
			for _, key := range numberKeys {
				if v, ok := s[key]; ok {
					number[key] = v
					delete(s, key)
				}
			}
			s["anyOf"] = []any{number, map[string]any{"enum": []any{protocol.NaN, protocol.Infinity, protocol.MinusInfinity}}}
		}
	}
}

var numberKeys = []string{"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "anyOf"}

func resolve(schema map[string]any) (*jsonschema.Resolved, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}
