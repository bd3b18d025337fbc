package prompt

import (
	"context"
	"encoding/json"
	"flag"
	"os/exec"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

var update = flag.Bool("update", false, "write the golden file anew")

func request() sdk.ExposeRequest {
	return sdk.ExposeRequest{Name: "model_tools", Interface: sdk.Interface{
		Doc: "Tools for one model.",
		Functions: []sdk.Function{
			{Name: "embed", Doc: "Embed a text.\n\n    In one go.", Returns: "list[float]",
				InputSchema:  json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string", "description": "a ` + "`word`" + `"}}}`),
				OutputSchema: json.RawMessage(`{"type": "array"}`),
				Params: []sdk.Param{
					{Name: "text", Kind: sdk.PositionalOrKeyword, Annotation: "str", Schema: json.RawMessage(`{"type":"string"}`)},
					{Name: "layers", Kind: sdk.KeywordOnly, Schema: json.RawMessage(`{"type":"array"}`)},
					{Name: "mode", Kind: sdk.KeywordOnly, HasDefault: true, DefaultRepr: "(1, 2)"},
				}},
			{Name: "reset", Async: true},
		},
	}}
}

func TestGolden(t *testing.T) {
	s, err := Mode{}.Expose(context.Background(), request())
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, *update, "testdata/prompt.md.golden", s.Prompt)
	if len(s.Files) != 2 || s.Files[0].Kind != sdk.FileConnection || s.Files[1].Path != "model_tools.md" {
		t.Fatalf("files = %+v", s.Files)
	}
	filled := strings.NewReplacer(`"{{seer.command}}"`, "seer", `"{{seer.connection}}"`, s.Files[0].Path).Replace(s.Prompt)
	if s.Files[1].Text != filled {
		t.Errorf("the file and the prompt differ:\n%s", s.Files[1].Text)
	}
}

// The commands that an agent is told are the words that were meant, to a shell.
func TestCommandsAreShell(t *testing.T) {
	req := request()
	req.Name = "it's"
	req.Interface.Functions[0].Params[0].Schema = json.RawMessage(`{"type":"object"}`)
	s, err := Mode{}.Expose(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(s.Files[1].Text, "```sh\n")
	code, _, _ = strings.Cut(code, "\n```")
	out, err := exec.Command("sh", "-c", "seer() { printf '%s\\n' \"$@\"; }\n"+code).CombinedOutput()
	if want := "call\n--connection\nit's.connection.json\nembed\ntext={}\nlayers=[]\n"; err != nil || string(out) != want {
		t.Errorf("the shell reads %q, %v", out, err)
	}
}

func TestRefused(t *testing.T) {
	for _, name := range []string{"", "a/b", "\x00"} {
		if _, err := (Mode{}).Expose(context.Background(), sdk.ExposeRequest{Name: name}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
