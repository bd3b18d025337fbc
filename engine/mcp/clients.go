package mcp

import (
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultWait is how long a tool is waited for before its call is handed over,
// where nothing is known of the client. The official SDKs give a request 60 s.
const DefaultWait = 45 * time.Second

// clientWaits is how long clients wait for a tool by default, with a margin, by the
// beginning of the name that they give themselves. See docs/mcp.md.
var clientWaits = []struct {
	name string
	wait time.Duration
}{
	{"codex", 45 * time.Second},
	{"claude-code", 4 * time.Minute},
	{"gemini-cli", 4 * time.Minute},
	{"opencode", 20 * time.Second},
}

// waitOf is how long a call of this session may hold its tool.
func (s *server) waitOf(session *mcp.ServerSession) time.Duration {
	if s.opts.Wait > 0 {
		return s.opts.Wait
	}
	if session == nil || session.InitializeParams() == nil || session.InitializeParams().ClientInfo == nil {
		return DefaultWait
	}
	return clientWait(session.InitializeParams().ClientInfo.Name)
}

func clientWait(name string) time.Duration {
	name = strings.ToLower(name)
	for _, c := range clientWaits {
		if strings.HasPrefix(name, c.name) {
			return c.wait
		}
	}
	return DefaultWait
}
