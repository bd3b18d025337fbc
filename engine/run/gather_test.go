package run

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/sdk"
)

// Of two services, the second's plugin takes nothing of the first's.
func TestSurfacesDoNotReplaceEachOther(t *testing.T) {
	g := gathered{prompt: "do it", servers: map[string]sdk.MCPServer{}, env: map[string]string{"SEER_MACHINE": "m"}}
	server := func(command string) map[string]sdk.MCPServer {
		return map[string]sdk.MCPServer{"tools": {Command: command}}
	}
	if err := g.add("first", surface.Written{MCPServers: server("seer"), Env: map[string]string{"A": "1", "SEER_MACHINE": "m"}, Prompt: "read"}); err != nil {
		t.Fatal(err)
	}
	for what, w := range map[string]surface.Written{
		"the MCP server tools":      {MCPServers: server("evil")},
		"the variable A":            {Env: map[string]string{"A": "2"}},
		"the variable SEER_MACHINE": {Env: map[string]string{"SEER_MACHINE": "other"}},
	} {
		if err := g.add("second", w); err == nil || !strings.Contains(err.Error(), "second has "+what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if g.servers["tools"].Command != "seer" || g.env["A"] != "1" || g.env["SEER_MACHINE"] != "m" || g.prompt != "do it\n\nread" {
		t.Errorf("%+v", g)
	}
	w := workspace{written: map[string]string{"helpers.py": "hash"}}
	if w.free("tools.py", "second") != nil || w.free("helpers.py", "second") == nil {
		t.Error("a library of the experiment's is replaced, or another file is not written")
	}
}
