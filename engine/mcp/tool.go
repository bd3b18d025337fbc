package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// tool is a function as an MCP tool.
type tool struct {
	fn     sdk.Function
	mcp    *mcp.Tool
	output *jsonschema.Resolved // what a result must be like; nil = anything
	wrap   bool                 // the result goes into {"result": …} whatever it is
}

func newTool(fn sdk.Function) (*tool, error) {
	input, err := inputSchema(fn)
	if err != nil {
		return nil, err
	}
	t := &tool{fn: fn, mcp: &mcp.Tool{Name: fn.Name, Description: fn.Doc, InputSchema: input}}
	if len(fn.OutputSchema) == 0 {
		return t, nil
	}
	schema, err := object(fn.OutputSchema)
	if err != nil {
		return nil, fmt.Errorf("the output schema of %s: %w", fn.Name, err)
	}
	if schema["type"] != "object" {
		schema, t.wrap = wrapSchema(schema), true
	}
	loosenNumbers(schema)
	if t.output, err = resolve(schema); err != nil {
		return nil, fmt.Errorf("the output schema of %s: %w", fn.Name, err)
	}
	t.mcp.OutputSchema = schema
	return t, nil
}

// inputSchema is the function's own, which the SDK wants to be of type object.
func inputSchema(fn sdk.Function) (map[string]any, error) {
	schema, err := object(fn.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("the input schema of %s: %w", fn.Name, err)
	}
	if schema["type"] != "object" {
		return nil, fmt.Errorf("the input schema of %s is not that of an object", fn.Name)
	}
	return schema, nil
}

func object(raw json.RawMessage) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
	}
	return m, nil
}

// wrapSchema is the schema of {"result": value}. Definitions stay at the root,
// where references look for them.
func wrapSchema(inner map[string]any) map[string]any {
	outer := map[string]any{
		"type": "object", "properties": map[string]any{resultKey: inner}, "required": []any{resultKey},
	}
	for _, key := range []string{"$schema", "$defs"} {
		if v, ok := inner[key]; ok {
			outer[key] = v
			delete(inner, key)
		}
	}
	return outer
}

// loosenNumbers admits what a Python float may also be. JSON cannot say it, so
// that it travels as a string; see [protocol.Plain]. A client that checks results would
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
