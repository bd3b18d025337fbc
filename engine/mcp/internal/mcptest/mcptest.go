// Package mcptest connects the official client of MCP to servers in tests.
package mcptest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client describes a client of MCP.
type Client struct {
	Name    string // default "test"
	Options *mcp.ClientOptions
	Version string // of the protocol; default the newest
}

// listens is since which version of the protocol a client asks for notifications of changes.
const listens = "2026-07-28"

// Connect serves a client of memory until the test ends. If the client wants to know of changes of
// tools, Connect waits until the server has acknowledged that, as the client itself does not.
func (c Client) Connect(t testing.TB, serve func(context.Context, mcp.Transport) error) *mcp.ClientSession {
	t.Helper()
	if c.Name == "" {
		c.Name = "test"
	}
	ctx, cancel := context.WithCancel(context.Background())
	here, there := mcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- serve(ctx, there) }()
	client, acknowledged := mcp.NewClient(&mcp.Implementation{Name: c.Name, Version: "0"}, c.Options), make(chan struct{}, 1)
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				select {
				case acknowledged <- struct{}{}:
				default:
				}
			}
			return next(ctx, method, req)
		}
	})
	session, err := client.Connect(ctx, here, &mcp.ClientSessionOptions{ProtocolVersion: c.Version})
	if err != nil {
		cancel()
		t.Fatalf("%v; %v", err, <-served)
	}
	t.Cleanup(func() {
		session.Close()
		cancel()
		if err := <-served; err != nil {
			t.Log("the server has ended:", err)
		}
	})
	if c.Options != nil && c.Options.ToolListChangedHandler != nil && session.InitializeResult().ProtocolVersion >= listens {
		select {
		case <-acknowledged:
		case err := <-served:
			served <- err
			t.Fatalf("the server has ended: %v", err)
		}
	}
	return session
}

// HTTP serves a handler at loopback until the test ends, and calls end then.
func HTTP(t testing.TB, h http.Handler, end func()) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		end()
	})
	return server
}
