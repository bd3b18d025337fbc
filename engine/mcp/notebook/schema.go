package notebook

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// props are the arguments of a tool by name.
type props map[string]any

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func whole(description string) map[string]any {
	return map[string]any{"type": "integer", "description": description}
}

func flag(description string, otherwise bool) map[string]any {
	return map[string]any{"type": "boolean", "description": description, "default": otherwise}
}

func choice(description string, options ...string) map[string]any {
	return map[string]any{"type": "string", "description": description, "enum": options, "default": options[0]}
}

func cellArgument(description string) map[string]any {
	return map[string]any{
		"anyOf":       []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}},
		"description": description + ": its id (cell_id), or its index among all cells; a negative one counts from the end",
	}
}

func timeoutArgument() map[string]any {
	return map[string]any{"type": "number", "minimum": 0,
		"description": "seconds to wait for the cell; it continues after that. Default: as long as the client waits"}
}

func sessionArgument() map[string]any {
	return text("needed only if you use several sessions")
}

// schema is an object with these properties and no others.
func schema(p props, required ...string) map[string]any {
	s := map[string]any{"type": "object", "properties": map[string]any(p), "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// answers describes the structured content of a tool. Clients check answers against it:
// it says what each field is, and demands none.
func answers[A any]() *jsonschema.Schema {
	s, err := jsonschema.For[A](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return &jsonschema.Schema{Type: "object"}
	}
	loosen(s)
	return s
}

func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties, s.Required = nil, nil
	loosen(s.Items)
	for _, p := range s.Properties {
		loosen(p)
	}
}

// The hints of tools. Code can do anything.
func reads() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
}

func runs() *mcp.ToolAnnotations {
	yes := true
	return &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
}

func adds() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no}
}

func ends() *mcp.ToolAnnotations {
	yes, no := true, false
	return &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no}
}

// cellRef is a cell's id or index. Models write numbers as texts, too, which is the
// same in a URL.
type cellRef string

// UnmarshalJSON takes a text or a whole number.
func (c *cellRef) UnmarshalJSON(data []byte) error {
	var id string
	if err := json.Unmarshal(data, &id); err == nil {
		*c = cellRef(id)
		return nil
	}
	var index int
	if err := json.Unmarshal(data, &index); err != nil {
		return errors.New("cell must be a cell's id or its index, a whole number")
	}
	*c = cellRef(strconv.Itoa(index))
	return nil
}

func oneOf(value string, options ...string) bool { return slices.Contains(options, value) }
