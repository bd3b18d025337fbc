package mcp

import (
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultWait is how long a tool is waited for before its call is handed over,
// where nothing is known of the client. The official SDKs give a request 60 s.
const DefaultWait = 45 * time.Second

// habits are what is known of a client.
type habits struct {
	name   string        // what the name begins with that it gives itself
	wait   time.Duration // how long it waits for a tool by default, with a margin
	strict bool          // it shows nothing but structuredContent where there is some: no images
}

// clients are those whose habits differ from what the SDKs do. See docs/mcp.md.
func clients() []habits {
	return []habits{
		{name: "codex", wait: 45 * time.Second, strict: true},
		{name: "claude-code", wait: 4 * time.Minute},
		{name: "gemini-cli", wait: 4 * time.Minute},
		{name: "opencode", wait: 20 * time.Second},
	}
}

func habitsOf(session *mcp.ServerSession) habits {
	if session == nil || session.InitializeParams() == nil || session.InitializeParams().ClientInfo == nil {
		return habits{wait: DefaultWait}
	}
	return habitsOfName(session.InitializeParams().ClientInfo.Name)
}

func habitsOfName(name string) habits {
	name = strings.ToLower(name)
	for _, c := range clients() {
		if strings.HasPrefix(name, c.name) {
			return c
		}
	}
	return habits{wait: DefaultWait}
}

// waitOf is how long a call of this session may hold its tool.
func (s *server) waitOf(session *mcp.ServerSession) time.Duration {
	if s.opts.Wait > 0 {
		return s.opts.Wait
	}
	return habitsOf(session).wait
}

// fit leaves out what keeps the client from showing an image.
func fit(r *mcp.CallToolResult, session *mcp.ServerSession) *mcp.CallToolResult {
	image := slices.ContainsFunc(r.Content, func(c mcp.Content) bool { _, is := c.(*mcp.ImageContent); return is })
	if image && habitsOf(session).strict {
		r.StructuredContent = nil
	}
	return r
}
