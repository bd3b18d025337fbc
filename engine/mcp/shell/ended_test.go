package shell

import (
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
)

// A command that was killed with its sandbox is not said to have been killed for its memory.
func TestCommandWhoseSandboxEnds(t *testing.T) {
	for ends, note := range map[bool]string{true: "because the sandbox ends", false: "because the memory was full"} {
		j := newJob("p-1", "sleep", time.Now())
		j.end = &protocol.Process{ExitCode: 137, Signal: "KILL", MachineEnds: ends}
		if text := j.command(1000).Content[0].(*sdkmcp.TextContent).Text; !strings.Contains(text, note) {
			t.Errorf("%t: %s", ends, text)
		}
	}
}
