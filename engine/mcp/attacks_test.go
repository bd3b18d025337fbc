package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

// hiddenText has an order to the terminal and characters that a reader does not see.
const hiddenText = "seen \x1b]52;c;aGk=\a\u202e\U000e0041 text"

// TestAttacksOnClients has a sandbox write what a person who looks at an agent's session
// does not see, or what the person's terminal obeys.
func TestAttacksOnClients(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "function-hides-text-in-description", Want: `\x1b]52`, Try: shownTo(func(t *testing.T, r *runtime, s *sdkmcp.ClientSession) string {
			list, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, tool := range list.Tools {
				if tool.Name != "f" {
					continue
				}
				schema, _ := tool.InputSchema.(map[string]any)
				x := schema["properties"].(map[string]any)["x"].(map[string]any)
				if x["default"] != hiddenText {
					t.Errorf("the default is %q", x["default"])
				}
				texts = append(texts, tool.Title, tool.Description, tool.Annotations.Title, x["description"].(string))
			}
			return strings.Join(append(texts, s.InitializeResult().Instructions), "\n")
		})},
		{Name: "function-hides-text-in-error", Want: `\x1b]52`, Try: shownTo(func(t *testing.T, r *runtime, s *sdkmcp.ClientSession) string {
			r.answers(func(c *served) {
				c.fails(protocol.CallError{Code: protocol.CallRaised, Type: "ValueError", Message: hiddenText, Traceback: hiddenText})
			})
			return text(call(t, s, "f", nil))
		})},
		{Name: "function-hides-text-in-result", Want: `\x1b]52`, Try: shownTo(func(t *testing.T, r *runtime, s *sdkmcp.ClientSession) string {
			r.returns(testkit.JSON(t, hiddenText))
			got := call(t, s, "f", nil)
			if value := got.StructuredContent.(map[string]any)["result"]; value != hiddenText {
				t.Errorf("the value is %q", value)
			}
			return text(got)
		})},
		{Name: "function-hides-text-in-json", Want: `\u202e`, Try: shownTo(func(t *testing.T, r *runtime, s *sdkmcp.ClientSession) string {
			r.returns(`{"key":` + testkit.JSON(t, hiddenText) + `}`)
			shown := text(call(t, s, "f", nil))
			var value map[string]string
			if err := json.Unmarshal([]byte(shown), &value); err != nil || value["key"] != hiddenText {
				t.Errorf("the text decodes to %q, %v", value, err)
			}
			return shown
		})},
	})
}

// shownTo is nil if a hidden character reaches a client in the text that show gives.
func shownTo(show func(*testing.T, *runtime, *sdkmcp.ClientSession) string) func(*testing.T, bool) error {
	return func(t *testing.T, defended bool) error {
		f := function("f", "")
		f.Doc, f.Title = hiddenText, strings.ReplaceAll(hiddenText, "\n", " ")
		f.InputSchema = json.RawMessage(`{"type":"object","properties":{"x":{"description":` + testkit.JSON(t, hiddenText) + `,"default":` + testkit.JSON(t, hiddenText) + `}}}`)
		r := newRuntime(t, f)
		r.face.Doc = hiddenText
		o := mcp.Options{}
		if !defended {
			o.ShowRaw()
		}
		shown := show(t, r, connectAs(t, mcp.Fixed(r.connection()), "test", o, nil))
		if strings.ContainsAny(shown, "\x1b\a\u202e\U000e0041") {
			return nil
		}
		return errors.New(shown)
	}
}
