package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/internal/attack"
)

const (
	ownersToken = "0123456789abcdef"
	hello       = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	secretCall  = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"secret","arguments":{},"_meta":{"progressToken":"p"}}}`
)

// TestAttacks asks for what others have been answered over HTTP.
func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "mcp-stream-resumed-without-the-token", Want: "401", Try: func(t *testing.T, defended bool) error {
			s := serveMCP(t, defended, maxSessions)
			session, event := s.answered(t)
			return s.resume(t, "", session, event)
		}},
		{Name: "mcp-stream-resumed-in-another-session", Want: "no event of the stream", Try: func(t *testing.T, defended bool) error {
			s := serveMCP(t, true, maxSessions)
			session, event := s.answered(t)
			if defended {
				session, _ = s.answered(t)
			}
			return s.resume(t, ownersToken, session, event)
		}},
		{Name: "mcp-request-of-another-origin", Want: "403", Try: func(t *testing.T, defended bool) error {
			return serveMCP(t, defended, maxSessions).begins(t, "Origin", "https://evil.example")
		}},
		{Name: "mcp-domain-that-leads-here", Want: "403", Try: func(t *testing.T, defended bool) error {
			return serveMCP(t, defended, maxSessions).begins(t, "Host", "evil.example")
		}},
		{Name: "mcp-sessions-without-end", Want: "503", Try: func(t *testing.T, defended bool) error {
			most := 5
			if !defended {
				most = 1 << 20
			}
			s := serveMCP(t, false, most)
			for range 20 {
				if err := s.begins(t, "Accept-Language", "en"); err != nil {
					return err
				}
			}
			return nil
		}},
	})
}

type mcpUnderTest struct{ url string }

// serveMCP serves a tool that tells a secret.
func serveMCP(t *testing.T, guarded bool, most int) mcpUnderTest {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "secret"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: 1})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the secret"}}}, nil, nil
	})
	h := unguarded(server, most)
	if guarded {
		h = Guard{Token: ownersToken}.Protect(h)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return mcpUnderTest{url: web.URL}
}

func (s mcpUnderTest) ask(t *testing.T, method, body, token string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s mcpUnderTest) begins(t *testing.T, headers ...string) error {
	if resp := s.ask(t, http.MethodPost, hello, ownersToken, headers...); resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return nil
}

// answered calls the tool in a new session: the session, and the id of an event of the
// stream with the answer, which is not the last.
func (s mcpUnderTest) answered(t *testing.T) (session, event string) {
	t.Helper()
	resp := s.ask(t, http.MethodPost, hello, ownersToken)
	session = resp.Header.Get("Mcp-Session-Id")
	_, _ = io.Copy(io.Discard, resp.Body)
	s.ask(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ownersToken, "Mcp-Session-Id", session)
	lines := bufio.NewScanner(s.ask(t, http.MethodPost, secretCall, ownersToken, "Mcp-Session-Id", session).Body)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok && event == "" {
			event = id
		}
	}
	if session == "" || event == "" {
		t.Fatalf("session %q, event %q", session, event)
	}
	return session, event
}

// resume takes a stream up as a client does whose connection broke.
func (s mcpUnderTest) resume(t *testing.T, token, session, event string) error {
	resp := s.ask(t, http.MethodGet, "", token, "Mcp-Session-Id", session, "Last-Event-ID", event)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		if token != "" {
			return fmt.Errorf("no event of the stream: %s %s", resp.Status, text)
		}
		return fmt.Errorf("%s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "the secret") {
			return nil
		}
	}
	return fmt.Errorf("no event of the stream")
}
