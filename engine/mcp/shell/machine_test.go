package shell_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/mcptest"
	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
)

// patience is for machines that have other things to do.
const patience = time.Minute

// TestMain makes the test binary double as the runtime, so that the tests speak to the
// real one, in a sandbox without isolation. They share it.
func TestMain(m *testing.M) {
	if os.Getenv(loader.BootVariable) != "" {
		os.Exit(runtime.Main(runtime.Worker{Files: fstest.MapFS{"none.py": {Data: []byte{}, Mode: fs.ModePerm}}, Entry: "none.py"}))
	}
	code := m.Run()
	shared.end()
	os.Exit(code)
}

var shared sandbox

// sandbox is a machine with its runtime.
type sandbox struct {
	once      sync.Once
	err       error
	dir       string
	workspace string
	admin     *client.Client
	session   client.Session
	cmd       *exec.Cmd
	log       bytes.Buffer
}

// box is the sandbox of these tests.
func box(t testing.TB) *sandbox {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatalf("the sandbox did not start: %v\n%s", shared.err, shared.log.String())
	}
	return &shared
}

func (b *sandbox) start() error {
	dir, err := os.MkdirTemp("", "seer-shell-")
	if err != nil {
		return err
	}
	b.dir, b.workspace = dir, filepath.Join(dir, "work é 'quoted' $(space)")
	for _, d := range []string{b.workspace, filepath.Join(dir, "home"), filepath.Join(dir, "scratch")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	token := protocol.NewToken()
	env, err := loader.BootEnv(loader.Boot{
		Listen: "unix:" + filepath.Join(dir, "s"), AdminSHA256: protocol.HashToken(token), Cache: filepath.Join(dir, "cache"),
		Scratch: filepath.Join(dir, "scratch"), Machine: "test-" + protocol.NewToken()[:12], Roots: map[string]string{"/workspace": b.workspace},
		EndUnix: time.Now().Add(20 * time.Minute).Unix(),
	})
	if err != nil {
		return err
	}
	argv := loader.Command("python3")
	b.cmd = exec.Command(argv[0], argv[1:]...)
	b.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "GOCOVERDIR=" + dir}
	b.cmd.Env = append(b.cmd.Env, testkit.RaceEnv()...)
	for k, v := range env {
		b.cmd.Env = append(b.cmd.Env, k+"="+v)
	}
	b.cmd.Stdout, b.cmd.Stderr = &b.log, &b.log
	if err := b.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if b.admin, err = client.New("unix:"+filepath.Join(dir, "s"), token); err != nil {
		return err
	}
	if _, err := b.admin.Boot(ctx, client.BootOptions{Binary: func(string, string) (string, error) { return os.Executable() }}); err != nil {
		return err
	}
	b.session = client.Session{Version: 1, Kind: protocol.SessionShell, Endpoint: b.admin.Endpoint(), Token: protocol.NewToken(), Sandbox: "sb-test"}
	return b.admin.Sessions().Put(ctx, "agent", b.session.Token)
}

func (b *sandbox) end() {
	if b.cmd == nil || b.cmd.Process == nil {
		return
	}
	b.admin.Close()
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	_ = b.cmd.Wait()
	_ = os.RemoveAll(b.dir)
}

// agent connects an official client to the tools of the sandbox, as one program of an
// agent does.
func agent(t testing.TB, o shell.Options) *sdkmcp.ClientSession {
	t.Helper()
	return agentWith(t, o, nil)
}

func agentWith(t testing.TB, o shell.Options, client *sdkmcp.ClientOptions) *sdkmcp.ClientSession {
	t.Helper()
	return agentNamed(t, "test", o, client)
}

func agentNamed(t testing.TB, name string, o shell.Options, client *sdkmcp.ClientOptions) *sdkmcp.ClientSession {
	t.Helper()
	return agentOf(t, box(t).session, name, o, client)
}

func agentOf(t testing.TB, of client.Session, name string, o shell.Options, options *sdkmcp.ClientOptions) *sdkmcp.ClientSession {
	t.Helper()
	return mcptest.Client{Name: name, Options: options}.Connect(t, func(ctx context.Context, transport sdkmcp.Transport) error {
		return shell.Serve(ctx, shell.Fixed(of), transport, o)
	})
}

type object = map[string]any

// answer is what a tool has answered.
type answer struct {
	object
	raw *sdkmcp.CallToolResult
}

// use calls a tool that has to succeed.
func use(t testing.TB, s *sdkmcp.ClientSession, tool string, args object) answer {
	t.Helper()
	a := try(t, s, tool, args)
	if a.raw.IsError {
		t.Fatalf("%s %v failed: %s", tool, args, textOf(a.raw))
	}
	// The text is the same, for clients that show nothing else.
	if text := textOf(a.raw); len(text) < 100<<10 && a.object != nil {
		var same object
		if json.Unmarshal([]byte(text), &same) != nil || len(same) != len(a.object) {
			t.Errorf("%s: the text is not the structured content: %.300s", tool, text)
		}
	}
	return a
}

func try(t testing.TB, s *sdkmcp.ClientSession, tool string, args object) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	r, err := s.CallTool(ctx, &sdkmcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	a := answer{raw: r}
	a.object, _ = r.StructuredContent.(object)
	return a
}

// refused calls a tool that has to fail, and say so.
func refused(t testing.TB, s *sdkmcp.ClientSession, tool string, args object, says ...string) {
	t.Helper()
	a := try(t, s, tool, args)
	for _, part := range says {
		if !a.raw.IsError || !strings.Contains(textOf(a.raw), part) {
			t.Errorf("%s %v: want an error with %q, got %.500s", tool, args, part, textOf(a.raw))
		}
	}
}

func textOf(r *sdkmcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	text, ok := r.Content[0].(*sdkmcp.TextContent)
	if !ok {
		return ""
	}
	return text.Text
}

func (a answer) text(key string) string { s, _ := a.object[key].(string); return s }

// want checks fields of an answer.
func (a answer) want(t testing.TB, fields object) {
	t.Helper()
	for key, want := range fields {
		if got := a.object[key]; got != want {
			t.Errorf("%s is %#v, want %#v; the answer: %.1500s", key, got, want, textOf(a.raw))
		}
	}
}

func hostileNames() []string {
	return []string{
		`it's "quoted"`, `$(touch pwned)`, "`id`", "new\nline", "-rf", "--help", "é ü 漢字 🎉", "a;b&&c|d", `back\slash`, " leading and trailing ", "%2e%2e", "#x?y=z&w", "~tilde", "*",
	}
}

func names(list []object, key string) []string {
	var out []string
	for _, o := range list {
		name, _ := o[key].(string)
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func list(a answer, key string) []object {
	var out []object
	items, _ := a.object[key].([]any)
	for _, item := range items {
		o, _ := item.(object)
		out = append(out, o)
	}
	return out
}
