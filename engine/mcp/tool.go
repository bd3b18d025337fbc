package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/sdk"
)

// tool is a function as an MCP tool.
type tool struct {
	fn     sdk.Function
	mcp    *mcp.Tool
	output *jsonschema.Resolved // what a result must be like that has come as a whole; nil = anything
	wrap   bool                 // the result goes into {"result": …} whatever it is
}

func newTools(face sdk.Interface) (map[string]*tool, error) {
	tools := make(map[string]*tool, len(face.Functions))
	for _, fn := range face.Functions {
		t, err := newTool(fn)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", face.Module, err)
		}
		tools[fn.Name] = t
	}
	return tools, nil
}

// Tools is how the functions of an interface appear as MCP tools.
func Tools(face sdk.Interface) ([]*mcp.Tool, error) {
	tools, err := newTools(face)
	if err != nil {
		return nil, err
	}
	list := make([]*mcp.Tool, len(face.Functions))
	for i, fn := range face.Functions {
		list[i] = tools[fn.Name].mcp
	}
	return list, nil
}

func newTool(fn sdk.Function) (*tool, error) {
	input, err := inputSchema(fn)
	if err != nil {
		return nil, err
	}
	t := &tool{fn: fn, mcp: &mcp.Tool{Name: fn.Name, Title: fn.Title, Description: fn.Doc, InputSchema: input, Annotations: annotations(fn)}}
	if len(fn.OutputSchema) == 0 {
		return t, nil
	}
	schema, err := object(fn.OutputSchema)
	if err != nil {
		return nil, fmt.Errorf("the output schema of %s: %w", fn.Name, err)
	}
	delete(schema, "$schema") // MCP's default is the one that Seer writes
	switch {
	case fn.Stream:
		schema, t.wrap = streamSchema(schema), true
	case schema["type"] != "object":
		schema, t.wrap = wrapSchema(schema), true
	}
	loosenNumbers(schema)
	if t.output, err = resolve(schema); err != nil {
		return nil, fmt.Errorf("the output schema of %s: %w", fn.Name, err)
	}
	t.mcp.OutputSchema = answerSchema(schema)
	return t, nil
}

// annotations are the author's hints. MCP has no unknown for two of them, so that they
// are only there where something is known.
func annotations(fn sdk.Function) *mcp.ToolAnnotations {
	h := fn.Hints
	if h == (sdk.Hints{}) && fn.Title == "" {
		return nil
	}
	is := func(b *bool) bool { return b != nil && *b }
	return &mcp.ToolAnnotations{
		Title: fn.Title, ReadOnlyHint: is(h.ReadOnly), IdempotentHint: is(h.Idempotent), DestructiveHint: h.Destructive, OpenWorldHint: h.OpenWorld,
	}
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
	delete(schema, "$schema")
	admitHandles(schema)
	return schema, nil
}

func object(raw json.RawMessage) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	return m, nil
}
