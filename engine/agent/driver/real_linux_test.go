package driver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/engine/agent/mockmodel"
	"github.com/seer-engine/seer/engine/agent/profile"
)

// realScript has a thought, a text, a call that works, one that fails and an end.
const realScript = `turns:
  - {think: I think first., say: I add., call: calc/add, with: {a: 2, b: 3}, usage: {input: 100, output: 20, cache_read: 7}}
  - {call: calc/fail}
  - {say: The sum is 5., usage: {input: 200, output: 30}}
`

// TestRealPrograms runs the agents in the folder SEER_TEST_AGENTS by their profiles, against a
// scripted model. e2e/agents/profiles.sh starts it without a network. SEER_RECORD names a folder
// for their outputs, as in testdata.
func TestRealPrograms(t *testing.T) {
	bin := os.Getenv("SEER_TEST_AGENTS")
	if bin == "" {
		t.Skip("SEER_TEST_AGENTS names no folder with agents")
	}
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(name+" with a tool", func(t *testing.T) {
			got := startReal(t, bin, name, realScript, false)
			if got.outcome.Reason != driver.EndTurn || got.exit != 0 {
				t.Fatalf("%+v, exit code %d", got.outcome, got.exit)
			}
			want := "I add.|calc add completed 5|calc fail failed it failed|The sum is 5."
			if text := story(got.updates); text != want {
				t.Errorf("the agent did\n%s\nand not\n%s", text, want)
			}
		})
		t.Run(name+" with a slow tool", func(t *testing.T) {
			if testing.Short() {
				t.Skip("it takes longer than the limits of MCP clients, which are about a minute")
			}
			got := startReal(t, bin, name, "turns:\n  - {call: calc/wait, with: {seconds: 75}}\n  - {say: Done.}\n", false)
			if text := story(got.updates); !strings.HasSuffix(text, "|Done.") || !strings.Contains(text, "completed") || !strings.Contains(text, "waited") {
				t.Errorf("the agent did %s", text)
			}
		})
		t.Run(name+" without a login", func(t *testing.T) {
			if testing.Short() || name == "claude" {
				t.Skip("it tries again for minutes")
			}
			got := startReal(t, bin, name, "turns:\n  - {say: hi, fault: {status: 401, times: 1000}}\n", false)
			if got.outcome.Reason != driver.Failed || got.outcome.Error == "" {
				t.Errorf("%+v, exit code %d", got.outcome, got.exit)
			}
		})
		t.Run(name+" interrupted", func(t *testing.T) {
			got := startReal(t, bin, name, "turns:\n  - {say: hi, fault: {hang: 600s, times: 1000}}\n", true)
			if got.outcome.Reason != driver.Cancelled {
				t.Errorf("%+v, exit code %d", got.outcome, got.exit)
			}
		})
	}
}

type realRun struct {
	outcome driver.Outcome
	updates []driver.Update
	exit    int
}

// startReal runs an agent. An interrupted one is cancelled as soon as the model hangs.
func startReal(t *testing.T, bin, name, script string, interrupt bool) realRun {
	p, err := profile.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	env := func(key string) string {
		return map[string]string{"PATH": bin + ":/usr/bin:/bin", "HOME": t.TempDir()}[key]
	}
	found, err := p.Find(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s: %v, shown %v", p.Title, found.Version, found.Argv, found.ReadOnly)
	parsed, err := mockmodel.Parse("script", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{}, 1)
	scripted := mockmodel.New(parsed, nil)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		scripted.ServeHTTP(w, r)
	}))
	defer model.CloseClientConnections()
	home, work := t.TempDir(), t.TempDir()
	server := profile.Server{Name: "calc", Command: "/usr/bin/python3", Args: []string{abs(t, "testdata/calc.py")}}
	// A model that Codex does not know gets plain tools; with others it calls tools from JavaScript.
	data := profile.Data{Model: "scripted", ModelURL: model.URL, Upstream: p.Upstream, Token: "none", Servers: []profile.Server{server}, Home: home,
		MCPFile: filepath.Join(home, "mcp.json"), Workspace: work, AsRoot: os.Getuid() == 0}
	rendered, err := p.Render(data)
	if err != nil {
		t.Fatal(err)
	}
	mcp, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"calc": map[string]any{"command": server.Command, "args": server.Args}}})
	rendered.Files["mcp.json"] = string(mcp)
	for file, text := range rendered.Files {
		file = filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(found.Argv[0], append(found.Argv[1:], rendered.Args...)...)
	cmd.Dir = work
	cmd.Env = []string{"HOME=" + home, "PATH=" + found.Search}
	for key, value := range rendered.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	return drive(ctx, t, cmd, p, data, interrupt, asked, cancel)
}

func drive(ctx context.Context, t *testing.T, cmd *exec.Cmd, p *profile.Profile, data profile.Data, interrupt bool, asked chan struct{}, cancel func()) realRun {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	limit := time.AfterFunc(3*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer limit.Stop()
	if interrupt {
		go func() {
			<-asked
			cancel()
			if p.Driver != driver.ACP {
				cmd.Process.Signal(os.Interrupt)
			}
		}()
	}
	var out realRun
	task := driver.Task{Prompt: "go\n", Dir: data.Workspace, Servers: data.Servers, Model: data.Model}
	task.Ended = func() {
		time.AfterFunc(3*time.Second, func() { cmd.Process.Signal(syscall.SIGTERM) })
	}
	recorded := recording(t, p.Name)
	out.outcome, err = driver.Run(ctx, p.Driver, stdin, io.TeeReader(stdout, recorded), task, func(u driver.Update) { out.updates = append(out.updates, u) })
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // the exit code says the same
	out.exit = cmd.ProcessState.ExitCode()
	t.Logf("%+v, exit code %d, %d updates", out.outcome, out.exit, len(out.updates))
	return out
}

func recording(t *testing.T, name string) io.Writer {
	dir := os.Getenv("SEER_RECORD")
	if dir == "" {
		return io.Discard
	}
	f, err := os.Create(filepath.Join(dir, name+"-"+strings.ReplaceAll(filepath.Base(t.Name()), "_", "-")+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func abs(t *testing.T, path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
