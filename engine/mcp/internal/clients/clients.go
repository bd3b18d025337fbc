// Package clients knows how MCP clients differ: how long they wait for a tool, and how much of
// an answer they show.
package clients

import (
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultWait is how long a tool is waited for before its call is handed over,
// where nothing is known of the client. The official SDKs give a request 60 s.
const DefaultWait = 45 * time.Second

// Habits are what is known of a client.
type Habits struct {
	Name string        // what the name begins with that it gives itself
	Wait time.Duration // how long it waits for a tool by default, with a margin
	// Structured: its model sees structuredContent, and no text, where there is some.
	Structured bool
	Strict     bool // and no image either
	Text       int  // so much text of an answer is certain to reach its model; 0 = not known to be cut
}

// clients are those whose habits differ from what the SDKs do. See docs/mcp.md.
func clients() []Habits {
	return []Habits{
		{Name: "codex", Wait: 45 * time.Second, Structured: true, Strict: true, Text: 8 << 10}, // of a model that it does not know it cuts the middle out,
		{Name: "claude-code", Wait: 4 * time.Minute, Structured: true},
		{Name: "gemini-cli", Wait: 4 * time.Minute},
		{Name: "opencode", Wait: 20 * time.Second},
	}
}

// HabitsOf are the habits of the client at the other end of a session.
func HabitsOf(session *mcp.ServerSession) Habits {
	if session == nil || session.InitializeParams() == nil || session.InitializeParams().ClientInfo == nil {
		return Habits{Wait: DefaultWait}
	}
	return HabitsOfName(session.InitializeParams().ClientInfo.Name)
}

// HabitsOfName are those of a client that gives itself this name.
func HabitsOfName(name string) Habits {
	name = strings.ToLower(name)
	for _, c := range clients() {
		if strings.HasPrefix(name, c.Name) {
			return c
		}
	}
	return Habits{Wait: DefaultWait}
}

// WaitOf is how long a call of this session may hold its tool: as long as was said, or
// as its client waits where nothing was.
func WaitOf(session *mcp.ServerSession, said time.Duration) time.Duration {
	if said > 0 {
		return said
	}
	return HabitsOf(session).Wait
}

// TextOf is how much of limit an answer may have for this session's client, so that what
// is cut is cut, and said, by us.
func TextOf(session *mcp.ServerSession, limit int) int {
	if text := HabitsOf(session).Text; text > 0 {
		return min(text, limit)
	}
	return limit
}

// Fit leaves out what keeps the client from showing an image.
func Fit(r *mcp.CallToolResult, session *mcp.ServerSession) *mcp.CallToolResult {
	image := slices.ContainsFunc(r.Content, func(c mcp.Content) bool { _, is := c.(*mcp.ImageContent); return is })
	if image && HabitsOf(session).Strict {
		r.StructuredContent = nil
	}
	return r
}
