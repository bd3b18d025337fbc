package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/mcp/internal/mcptest"
	"github.com/seer-engine/seer/internal/testkit"
)

const httpToken = "0123456789abcdef"

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }

func serveHTTP(t *testing.T, r *runtime, guard mcp.Guard) *httptest.Server {
	t.Helper()
	guard.Token = httpToken
	h, closeAll, err := mcp.Handler(t.Context(), r.fixed(), guard, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.HTTP(t, h, closeAll)
}

func TestStreamableHTTP(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	server := serveHTTP(t, r, mcp.Guard{})
	h, options := listen()
	s, err := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "0"}, options).Connect(t.Context(),
		&sdkmcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: testkit.Bearer(httpToken)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r.answers(func(c *served) {
		c.prints(" 20%|## | 2/10 [x]")
		if c.head.Fn == "f" {
			waitForNews(h)
		}
		c.result("5")
	})
	params := &sdkmcp.CallToolParams{Name: "f"}
	params.SetProgressToken("p")
	got, err := s.CallTool(t.Context(), params)
	if err != nil || field(t, got, "result") != 5.0 {
		t.Fatalf("got %s, %v", testkit.JSON(t, got), err)
	}
	checkCancellation(t, r, s)
}

func waitForNews(h *heard) { <-h.news }

func TestHTTPLetsNobodyInWithoutTheToken(t *testing.T) {
	server := serveHTTP(t, newRuntime(t), mcp.Guard{Hosts: []string{"mcp.example.org"}, Origins: []string{"https://app.example.org"}})
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	for _, tt := range []struct {
		name, token, host, origin string
		want                      int
	}{
		{"the owner", httpToken, "", "", 200},
		{"no token", "", "", "", 401},
		{"a wrong token", "0123456789abcdeX", "", "", 401},
		{"a name that leads here", httpToken, "evil.example", "", 403},
		{"a name that is allowed", httpToken, "mcp.example.org:8000", "", 200},
		{"another loopback name", httpToken, "[::1]:80", "", 200},
		{"a page of elsewhere", httpToken, "", "https://evil.example", 403},
		{"a page without origin", httpToken, "", "null", 403},
		{"a page of this machine", httpToken, "", "http://localhost:6274", 200},
		{"a page that is allowed", httpToken, "", "https://app.example.org", 200},
		{"a page that looks allowed", httpToken, "", "https://app.example.org.evil.example", 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		req.Host = tt.host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s: %d %s", tt.name, resp.StatusCode, body)
		}
		if asked := resp.Header.Get("WWW-Authenticate"); (asked != "") != (tt.want == 401) || asked != "" && !strings.HasPrefix(asked, "Bearer") {
			t.Errorf("%s: WWW-Authenticate %q", tt.name, asked)
		}
	}
	if _, _, err := mcp.Handler(t.Context(), newRuntime(t).fixed(), mcp.Guard{Token: "short"}, mcp.Options{}); err == nil {
		t.Error("a short token was taken")
	}
}
