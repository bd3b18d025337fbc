package serve

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/sanitize"
)

// Readable is a middleware that shows what a reader would not see, or a terminal would
// obey, in the texts that a server answers: descriptions, errors, results and resources.
// Values in structuredContent and _meta stay exactly what they are, and a text that is JSON
// decodes to the same value.
func Readable(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if err != nil {
			return result, err
		}
		switch r := result.(type) {
		case *mcp.InitializeResult:
			r.Instructions = sanitize.Text(r.Instructions)
		case *mcp.DiscoverResult:
			r.Instructions = sanitize.Text(r.Instructions)
		case *mcp.ListToolsResult:
			for i, tool := range r.Tools {
				r.Tools[i] = readableTool(tool)
			}
		case *mcp.CallToolResult:
			readableTexts(r)
		case *mcp.ReadResourceResult:
			for _, content := range r.Contents {
				content.Text = readable(content.Text)
			}
		}
		return result, nil
	}
}

// ReadableErrors is [Readable] for errors of tools alone: a server of files shows these as
// they are, since an agent edits them.
func ReadableErrors(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if r, ok := result.(*mcp.CallToolResult); ok && err == nil && r.IsError {
			readableTexts(r)
		}
		return result, err
	}
}

func readableTexts(r *mcp.CallToolResult) {
	for _, content := range r.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			text.Text = readable(text.Text)
		}
	}
}

func readable(text string) string {
	if json.Valid([]byte(text)) {
		return string(sanitize.JSON([]byte(text)))
	}
	return sanitize.Text(text)
}

func readableTool(tool *mcp.Tool) *mcp.Tool {
	t := *tool // the server keeps its own
	t.Title, t.Description = sanitize.Line(t.Title), sanitize.Text(t.Description)
	t.InputSchema, t.OutputSchema = readableSchema(t.InputSchema), readableSchema(t.OutputSchema)
	if t.Annotations != nil {
		a := *t.Annotations
		a.Title = sanitize.Line(a.Title)
		t.Annotations = &a
	}
	return &t
}

// readableSchema changes what a JSON schema says to readers, and nothing that it checks.
func readableSchema(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		out := make(map[string]any, len(s))
		for key, value := range s {
			text, isText := value.(string)
			switch {
			case isText && (key == "title" || key == "description"):
				out[key] = sanitize.Text(text)
			case slices.Contains([]string{"const", "default", "enum", "examples"}, key):
				out[key] = value
			default:
				out[key] = readableSchema(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i, value := range s {
			out[i] = readableSchema(value)
		}
		return out
	}
	return schema
}
