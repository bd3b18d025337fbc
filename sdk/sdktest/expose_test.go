package sdktest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// agent is an expose mode, with places where a mutant goes wrong.
type agent struct {
	flaws
}

func (a agent) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	var o struct{ Short bool }
	if d := json.NewDecoder(bytes.NewReader(req.Options)); len(req.Options) > 0 && !a.has("ignores options") {
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return sdk.Surface{}, sdk.Errorf(sdk.Invalid, "agent: options: %v", err)
		}
	}
	if a.has("needs functions") && len(req.Interface.Functions) == 0 {
		panic("index out of range")
	}
	text := "# " + req.Name + "\n"
	for i, f := range req.Interface.Functions {
		if !a.has("forgets") || i < 10 {
			text += f.Name + ": " + f.Doc + "\n"
		}
	}
	tools, _ := json.Marshal(req.Interface)
	if a.has("pastes JSON") {
		tools = []byte(fmt.Sprintf(`{"doc":"%s"}`, req.Interface.Doc))
	}
	if a.has("forgets") {
		tools = []byte("{}")
	}
	s := sdk.Surface{Prompt: text + sdk.PlaceholderConnection, Files: []sdk.SurfaceFile{
		{Path: req.Name + ".json", Text: string(tools)}, {Path: req.Name + ".connection.json", Kind: sdk.FileConnection}},
		MCPServers: map[string]sdk.MCPServer{}, Env: map[string]string{"SEER_X": "1"}}
	switch {
	case a.has("not pure"):
		s.Prompt += fmt.Sprint(new(int))
	case a.has("no connection"):
		s.Files = s.Files[:1]
	case a.has("writes settings"):
		s.Files = append(s.Files, sdk.SurfaceFile{Path: ".vscode/tasks.json", Text: "{}"})
	case a.has("climbs"):
		s.Files[0].Path = "../" + s.Files[0].Path
	case a.has("files twice"):
		s.Files = append(s.Files, sdk.SurfaceFile{Path: strings.ToUpper(req.Name) + ".JSON", Text: "{}"})
	case a.has("runs a shell"):
		s.MCPServers["x"] = sdk.MCPServer{Command: "sh"}
	case a.has("sets PATH"):
		s.Env["PATH"] = "/tmp"
	case a.has("placeholder in a file"):
		s.Files[0].Text = `["{{seer.dir}}"]`
	case a.has("grows") && len(req.Interface.Functions) == 0:
		s.Prompt += strings.Repeat("x", 2<<20)
	case a.has("raw errors") && req.Options != nil:
		return s, fmt.Errorf("a\nb")
	}
	return s, nil
}

func exposeKit(f flaws) sdktest.ExposeKit {
	return sdktest.ExposeKit{Open: func() sdk.Exposer { return agent{flaws: f} }, Options: []json.RawMessage{json.RawMessage(`{"short":true}`)}}
}

func TestAGoodExposeModePasses(t *testing.T) { sdktest.Expose(t, exposeKit(nil)) }

func TestEveryMutantOfAnExposeModeIsCaught(t *testing.T) {
	for flaw, want := range map[string][]string{
		"not pure": {"expose/pure", "expose/together"}, "ignores options": {"expose/unknown-option"}, "forgets": {"expose/names-functions"},
		"no connection": {"expose/placeholders"}, "writes settings": {"expose/files"}, "climbs": {"expose/files"}, "files twice": {"expose/files"},
		"runs a shell": {"expose/permissions"}, "sets PATH": {"expose/permissions"}, "placeholder in a file": {"expose/placeholders"},
		"pastes JSON": {"expose/every-interface"}, "grows": {"expose/size"}, "needs functions": {"expose/*"},
	} {
		t.Run(flaw, func(t *testing.T) {
			catch(t, func(time.Duration) []sdktest.Check { return sdktest.ExposeChecks(exposeKit(flaws{flaw: true})) }, want)
		})
	}
}
