package mcp_test

import (
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestCallIDs: an agent in a run sees the ID of each call behind its result, also of a call that
// has failed. A client whose model sees structured content only gets none, and is promised none.
func TestCallIDs(t *testing.T) {
	for name, structured := range map[string]string{"gemini-cli-mcp-client": `{"result":5}`, "codex-mcp-client": "null", "claude-code": "null"} {
		t.Run(name, func(t *testing.T) {
			r := newRuntime(t, function("good", `{"type":"integer"}`), function("bad", `{"type":"integer"}`))
			r.answers(func(c *served) {
				if c.head.Fn == "good" {
					c.result("5")
					return
				}
				c.fails(protocol.CallError{Code: protocol.CallRaised, Message: "it failed"})
			})
			s := connectAs(t, r.fixed(), name, mcp.Options{CallIDs: true}, nil)
			const told = "Tools of a test.\n\nThe result of each function ends with [call:ID], the ID of its call. Write it behind what you report, as it stands, to cite the call."
			if got := s.InitializeResult().Instructions; got != told {
				t.Errorf("instructions %q", got)
			}
			list, err := s.ListTools(t.Context(), nil)
			if err != nil || (list.Tools[0].OutputSchema == nil) != (structured == "null") {
				t.Errorf("%s, %v", testkit.JSON(t, list.Tools[0]), err)
			}
			for _, fn := range []string{"good", "bad"} {
				got := call(t, s, fn, nil)
				id := r.call(fn).head.ID
				last := got.Content[len(got.Content)-1].(*sdkmcp.TextContent).Text
				if len(got.Content) != 2 || last != "[call:"+id+"]" || got.Meta[mcp.MetaCall] != id {
					t.Errorf("%s, call %s: %s", fn, id, testkit.JSON(t, got))
				}
				if fn == "good" && (got.Content[0].(*sdkmcp.TextContent).Text != "5" || testkit.JSON(t, got.StructuredContent) != structured) {
					t.Errorf("%s", testkit.JSON(t, got))
				}
			}
		})
	}
}
