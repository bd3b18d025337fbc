package serve

import (
	"cmp"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewServer is a server of tools and resources for what an agent works in: name is "sandbox"
// or "notebook".
func NewServer(name, version, instructions string) *mcp.Server {
	s := mcp.NewServer(Implementation(name, version), &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{
			Logging:   &mcp.LoggingCapabilities{}, //nolint:staticcheck // for the versions of MCP that most clients speak
			Tools:     &mcp.ToolCapabilities{},
			Resources: &mcp.ResourceCapabilities{},
		},
	})
	s.AddReceivingMiddleware(ReadableErrors)
	return s
}

// Implementation is what clients are told about a server. An empty version is that of a
// program that was not released.
func Implementation(name, version string) *mcp.Implementation {
	return &mcp.Implementation{Name: name, Title: "Seer: " + name, Version: cmp.Or(version, "dev")}
}
