package mcpbridge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/agent/mcpbridge"
)

// server is an MCP server with an address, and what it was asked.
type server struct {
	mu    sync.Mutex
	asked []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprintf("%s %s %s %s %s", r.Method, r.Header.Get("X-Key"), r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"), body))
	s.mu.Unlock()
	switch text := string(body); {
	case r.Method == http.MethodDelete:
	case strings.Contains(text, "initialize"):
		w.Header().Set("Mcp-Session-Id", "s1")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\n \"id\": 1,\n \"result\": {\"protocolVersion\": \"2025-06-18\"}\n}")
	case strings.Contains(text, "initialized"):
		w.WriteHeader(http.StatusAccepted)
	case strings.Contains(text, "stream"):
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, ": hello\nevent: message\ndata: {\"method\":\"progress\"}\n\nid: 7\ndata: {\"id\":2,\ndata: \"result\":\"é\"}\n\n")
	case strings.Contains(text, "away"):
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
	default:
		http.Error(w, "no such tool", http.StatusNotFound)
	}
}

// TestSession: a session of an agent is one of the server, with its headers, whatever form the
// answers have. Nobody is led to another host.
func TestSession(t *testing.T) {
	far := &server{}
	web := httptest.NewServer(far)
	defer web.Close()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		mcpbridge.Serve(ctx, l, mcpbridge.Server{URL: web.URL + "/mcp?key=secret", Headers: map[string]string{"X-Key": "k"}})
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(conn)
	for _, step := range []struct {
		say  string
		want []string
	}{
		{`{"id":1,"method":"initialize"}`, []string{`{"id":1,"result":{"protocolVersion":"2025-06-18"}}`}},
		{`{"method":"notifications/initialized"}`, nil},
		{"no JSON", nil},
		{`{"id":2,"method":"stream"}`, []string{`{"method":"progress"}`, `{"id":2,"result":"é"}`}},
		{`{"id":3,"method":"away"}`, []string{`{"error":{"code":-32000,"message":"the MCP server at ` + web.URL + `: it answered 307 Temporary Redirect: "},"id":3,"jsonrpc":"2.0"}`}},
		{`{"id":"é","method":"other"}`, []string{`{"error":{"code":-32000,"message":"the MCP server at ` + web.URL + `: it answered 404 Not Found: no such tool"},"id":"é","jsonrpc":"2.0"}`}},
	} {
		if _, err := io.WriteString(conn, step.say+"\n"); err != nil {
			t.Fatal(err)
		}
		for _, want := range step.want {
			if !answers.Scan() || answers.Text() != want {
				t.Errorf("%s: %q, not %q", step.say, answers.Text(), want)
			}
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	want := []string{
		`POST k   {"id":1,"method":"initialize"}`, `POST k s1 2025-06-18 {"method":"notifications/initialized"}`, `POST k s1 2025-06-18 {"id":2,"method":"stream"}`,
		`POST k s1 2025-06-18 {"id":3,"method":"away"}`, `POST k s1 2025-06-18 {"id":"é","method":"other"}`, "DELETE k s1 2025-06-18 ",
	}
	if got, want := strings.Join(far.asked, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("the server was asked\n%s", got)
	}
}
