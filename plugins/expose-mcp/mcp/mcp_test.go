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

func TestOptions(t *testing.T) {
	for raw, want := range map[string][]string{
		``: nil, `{}`: nil, `{"wait":"90s","handle_above":1000}`: {"--wait", "90s", "--handle-above", "1000"},
	} {
		got, err := Mode{}.Expose(context.Background(), sdk.ExposeRequest{Name: "m", Options: []byte(raw)})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if args := got.MCPServers["m"].Args; len(args) != 3+len(want) || len(want) > 0 && !reflect.DeepEqual(args[3:], want) {
			t.Errorf("%s became %v", raw, args)
		}
	}
	for _, raw := range []string{`{"wait":45}`, `{"wait":"soon"}`, `{"wait":"1ms"}`, `{"handle_above":-1}`, `{"waits":"1s"}`, `[]`} {
		if _, err := (Mode{}).Expose(context.Background(), sdk.ExposeRequest{Name: "m", Options: []byte(raw)}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
