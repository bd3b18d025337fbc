package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

const mcpInterface = `
import time

@expose
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b

@expose
def info() -> dict:
    return {"layers": 2}

@expose
def fail():
    raise ValueError("no layer 9")

@expose
def noisy():
    print("this must not reach the protocol", flush=True)
    return "done"

@expose
def slow():
    open("/workspace/started", "w").close()
    try:
        time.sleep(600)
    finally:
        open("/workspace/ended", "w").close()
`

// program runs the real binary in a home of its own.
type program struct {
	t    *testing.T
	path string
	env  []string
	dir  string
}

func newProgram(t *testing.T) *program {
	t.Helper()
	i := install(t)
	sockets, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	home := t.TempDir()
	p := &program{t: t, path: filepath.Join(i.bin, "seer"), dir: t.TempDir(), env: []string{
		"PATH=" + i.path(), "HOME=" + home, "XDG_RUNTIME_DIR=" + sockets, "XDG_CACHE_HOME=" + i.cache, "SEER_PYTHON=" + os.Getenv("SEER_PYTHON"),
	}}
	t.Cleanup(func() { p.run("down", "--all", "--quiet") })
	return p
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Env, cmd.Dir = p.env, p.dir
	return cmd
}

func (p *program) run(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).Output()
	if err != nil {
		var exit *exec.ExitError
		text := ""
		if errors.As(err, &exit) {
			text = string(exit.Stderr)
		}
		p.t.Fatalf("seer %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return string(out)
}

func (p *program) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// server is an entry of the configuration that serve wrote, as a client reads it.
func (p *program) server(dir, name string) *exec.Cmd {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, dir, cli.MCPConfigFile))
	if err != nil {
		p.t.Fatal(err)
	}
	var config struct {
		Servers map[string]sdk.MCPServer `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		p.t.Fatal(err)
	}
	s, ok := config.Servers[name]
	if !ok {
		p.t.Fatalf("no server %s in %s", name, data)
	}
	// Nothing of Seer's own environment: a client may start it anywhere.
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range s.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

// newMCPProgram has a sandbox lab whose functions are tools; the folder out has their mcp.json.
func newMCPProgram(t *testing.T, code, out string) *program {
	t.Helper()
	p := newProgram(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	p.write("tools.py", code)
	p.run("up", "exp.yaml", "--name", "lab")
	p.run("serve", "lab", "tools.py", "--as", "mcp", "--name", "tools", "--out", out)
	return p
}

// TestMCP lets the official client start what serve --as mcp configured.
func TestMCP(t *testing.T) {
	t.Parallel()
	p := newMCPProgram(t, mcpInterface, "mcp")

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: p.server("mcp", "tools")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 8 {
		t.Fatalf("%d tools", len(list.Tools))
	}
	for _, c := range []struct {
		tool, want string
		args       any
		failed     bool
	}{
		{tool: "add", args: map[string]any{"a": 2}, want: `{"result":3}`},
		{tool: "info", want: `{"layers":2}`},
		{tool: "noisy", want: `{"result":"done"}`},
		{tool: "fail", failed: true, want: "null"},
		{tool: "add", args: map[string]any{"z": 2}, failed: true, want: "null"},
	} {
		r, err := callTool(t, session, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		if err != nil {
			t.Fatalf("%s: %v", c.tool, err)
		}
		got, _ := json.Marshal(r.StructuredContent)
		if string(got) != c.want || r.IsError != c.failed {
			t.Errorf("%s: structured %s, error %v", c.tool, got, r.IsError)
		}
		if text := r.Content[0].(*mcp.TextContent).Text; c.tool == "fail" && (!strings.Contains(text, "ValueError: no layer 9") || !strings.Contains(text, "tools.py")) {
			t.Errorf("fail said %q", text)
		}
	}
	p.cancelled(session)
	p.gone(session)
}

// callTool gives each request the time of what must come.
func callTool(t *testing.T, session *mcp.ClientSession, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return session.CallTool(ctx, p)
}

// cancelled gives a call up, which must end it in the sandbox.
func (p *program) cancelled(session *mcp.ClientSession) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
		done <- err
	}()
	p.eventually("started")
	cancel()
	if err := <-done; err == nil {
		p.t.Error("a cancelled call succeeded")
	}
	p.eventually("ended")
}

// gone ends the sandbox under the server, which must say so and go on living.
func (p *program) gone(session *mcp.ClientSession) {
	p.t.Helper()
	p.run("down", "lab")
	r, err := callTool(p.t, session, &mcp.CallToolParams{Name: "info"})
	if err != nil {
		p.t.Fatal(err)
	}
	if text := r.Content[0].(*mcp.TextContent).Text; !r.IsError || !strings.Contains(text, "ended") {
		p.t.Errorf("a call without a sandbox gave %q", text)
	}
	// Served again, the same server is used again.
	p.run("up", "exp.yaml", "--name", "lab")
	p.run("serve", "lab", "tools.py", "--as", "mcp", "--name", "tools", "--out", "mcp")
	r, err = callTool(p.t, session, &mcp.CallToolParams{Name: "info"})
	if err != nil || r.IsError {
		p.t.Errorf("the new sandbox was not found: %v %+v", err, r)
	}
}

// eventually waits for a file in the sandbox's workspace.
func (p *program) eventually(file string) {
	p.t.Helper()
	testkit.EventuallyNil(p.t, file, func() error { return p.command("exec", "lab", "--", "test", "-e", file).Run() })
}

func TestMCPRefusesAFileThatIsNoConnection(t *testing.T) {
	p := newProgram(t)
	p.write("bad.json", "{}")
	cmd := p.command("mcp", "--connection", "bad.json")
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); err == nil || code != cli.ExitConfig || len(out) > 0 {
		t.Errorf("exit code %d, stdout %q", code, out)
	}
}

// A file that is missing is not taken for the name of a sandbox.
func TestMCPSaysThatAFileIsMissing(t *testing.T) {
	p := newProgram(t)
	for _, c := range []struct {
		flag, given, want string
		code              int
	}{
		{"--shell", "nope.json", "there is no session file nope.json", cli.ExitNotFound},
		{"--shell", "no/where", "there is no session file no/where", cli.ExitNotFound},
		{"--shell", "./", "is a directory", cli.ExitConfig},
		{"--shell", "lab", "there is no sandbox", cli.ExitNotFound},
		{"--notebook", "nope.json", "--notebook nope.json: that looks like a file, and is not there", cli.ExitUsage},
		{"--notebook", "localhost:8888/lab?token=secret", "--notebook localhost:8888/lab: ", cli.ExitUsage},
		{"--notebook", "localhost:8888?token=secret", "--notebook localhost:8888: that is neither a sandbox nor a URL", cli.ExitUsage},
		{"--notebook", "lab?token=secret", "--notebook lab: ", cli.ExitUsage},
		{"--notebook", "env:NO_SCHEME", "--notebook env:NO_SCHEME: the variable holds neither", cli.ExitUsage},
		{"--notebook", "env:ONLY_TOKEN", "--notebook env:ONLY_TOKEN: ", cli.ExitUsage},
		{"--notebook", "lab", "there is no sandbox", cli.ExitNotFound},
	} {
		cmd := p.command("mcp", c.flag, c.given)
		cmd.Env = append(cmd.Env, "NO_SCHEME=127.0.0.1:8888?token=secret", "ONLY_TOKEN=secret")
		var said strings.Builder
		cmd.Stderr = &said
		_ = cmd.Run() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(said.String(), c.want) || strings.Contains(said.String(), "secret") {
			t.Errorf("%s %s: exit code %d, %s", c.flag, c.given, code, said.String())
		}
	}
}

// TestMCPEndsWithItsClient covers the ways in which clients end a server.
func TestMCPEndsWithItsClient(t *testing.T) {
	t.Parallel()
	p := newMCPProgram(t, mcpInterface, "mcp")
	for _, how := range []string{"stdin closed", "SIGTERM"} {
		cmd := p.server("mcp", "tools")
		in, out := testkit.StartPiped(t, cmd)
		hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}` + "\n"
		if _, err := in.Write([]byte(hello)); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatalf("%s: no answer: %v", how, err)
		}
		if how == "SIGTERM" {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		} else {
			in.Close()
		}
		end := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // how it ended is asked below
		if !end.Stop() {
			t.Errorf("%s: the server did not end", how)
		}
		if code := cmd.ProcessState.ExitCode(); how == "stdin closed" && code != 0 {
			t.Errorf("%s: exit code %d", how, code)
		}
	}
}
