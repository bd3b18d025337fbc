package main

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/internal/testkit"
)

const mcpLongInterface = `
import time

@expose
def size(data: bytes) -> int:
    return len(data)

@expose
def big(n: int) -> bytes:
    return b"x" * n

@expose
def count(n: int):
    for i in range(n):
        yield i
        time.sleep(0.1)
`

// TestMCPOverHTTP lets the official client keep a large result in the sandbox, hand it
// on, and end a call that takes long.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	p := newMCPProgram(t, mcpLongInterface, ".")
	address, token := p.serveHTTP("--wait", "1s")

	connect := func(token string) (*mcp.ClientSession, error) {
		return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: testkit.Bearer(token)}}, nil)
	}
	if s, err := connect("not the token at all"); err == nil {
		s.Close()
		t.Error("a wrong token was let in")
	}
	session, err := connect(token)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func(name string, args map[string]any) map[string]any {
		t.Helper()
		r, err := callTool(t, session, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, ok := r.StructuredContent.(map[string]any)
		if !ok {
			t.Fatalf("%s gave %+v, %+v", name, r, r.Content[0])
		}
		return got
	}
	handle, ok := call("big", map[string]any{"n": 100_000})["handle"].(map[string]any)
	if !ok || handle["kind"] != "bytes" {
		t.Fatalf("big gave %v", handle)
	}
	if got := call("size", map[string]any{"data": map[string]any{"handle": handle["id"]}})["result"]; got != 100_000.0 {
		t.Errorf("size of the handle: %v", got)
	}
	if got := call("count", map[string]any{"n": 3})["result"]; len(got.([]any)) != 3 {
		t.Errorf("three items: %v", got)
	}
	pending := call("count", map[string]any{"n": 10_000})
	if pending["state"] != "running" {
		t.Fatalf("a long call gave %v", pending)
	}
	if got := call("call-cancel", map[string]any{"call": pending["call"]}); got["state"] != "cancelled" || len(got["result"].([]any)) < 3 {
		t.Errorf("ended: %v", got)
	}
}

// serveHTTP starts seer mcp with a new token, and ends it with the test.
func (p *program) serveHTTP(args ...string) (address, token string) {
	p.t.Helper()
	cmd := p.command(append([]string{"mcp", "--connection", "tools.connection.json", "--http", "127.0.0.1:0", "--http-token-file", "token"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // ended by the signal
	})
	address, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(p.dir, "token")
	data, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		p.t.Errorf("the token is there for others: %v %v", info.Mode(), err)
	}
	return strings.TrimSpace(address), strings.TrimSpace(string(data))
}

func TestMCPKeepsToThisMachine(t *testing.T) {
	p := newProgram(t)
	for _, args := range [][]string{
		{"--http", "0.0.0.0:0"}, {"--http", ":0"}, {"--http", "example.org:80"}, {"--http", "here"},
		{"--http-token-file", "f"}, {"--http-public"}, {"--wait", "1ms"}, {"--handle-above", "0"},
	} {
		cmd := p.command(append([]string{"mcp", "--connection", "f"}, args...)...)
		_ = cmd.Run() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage {
			t.Errorf("%q ended with %d", args, code)
		}
	}
	p.write("short", "secret\n")
	p.write("c.json", `{"version":1,"sandbox":"sb-x","service":"s","endpoint":"unix:/nowhere","token":"t"}`)
	cmd := p.command("mcp", "--connection", "c.json", "--http", "127.0.0.1:0", "--http-token-file", "short")
	_ = cmd.Run() // its code is looked at
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitConfig {
		t.Errorf("a short token ended with %d", code)
	}
}
