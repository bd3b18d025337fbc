package mcp

import (
	"context"
	"reflect"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

func TestExpose(t *testing.T) {
	got, err := Mode{}.Expose(context.Background(), sdk.ExposeRequest{
		Name: "model_tools",
		Interface: sdk.Interface{Functions: []sdk.Function{
			{Name: "get_model_info", Doc: "\nAbout the model.\n\nMore."},
			{Name: "embed"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Surface{
		Files: []sdk.SurfaceFile{{Path: "model_tools.connection.json", Kind: sdk.FileConnection}},
		MCPServers: map[string]sdk.MCPServer{"model_tools": {
			Command: "{{seer.command}}",
			Args:    []string{"mcp", "--connection", "{{seer.connection}}"},
		}},
		Prompt: "The MCP server `model_tools` offers these tools:\n\n- `get_model_info`: About the model.\n- `embed`\n",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("surface = %+v\nwant      %+v", got, want)
	}
}

func TestExposeWithoutName(t *testing.T) {
	if _, err := (Mode{}).Expose(context.Background(), sdk.ExposeRequest{}); sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("error = %v", err)
	}
}
