package driver_test

import (
	"bytes"
	"context"
	"fmt"
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

// toolScript has a thought, a text, a call that works, one that fails and an end.
const toolScript = `turns:
  - {think: I think first., say: I add., call: calc/add, with: {a: 2, b: 3}, usage: {input: 100, output: 20, cache_read: 7}}
  - {call: calc/fail}
  - {say: The sum is 5., usage: {input: 200, output: 30}}
`

// realTry is a run of a real program.
type realTry struct {
	script    string
	server    string // program of the MCP server; empty = one that works
	maxTurns  int
	tools     map[string][]string // by profile
	interrupt bool                // as soon as the model has been asked

	// what has come of it
	collected
	exit    int
	offered []string // bodies of the requests to the model
	bodies  chan string
}

// TestRealPrograms runs the agents in the folder SEER_TEST_AGENTS by their profiles, against a
// scripted model. e2e/agents/profiles.sh starts it without a network. SEER_RECORD names a folder
// for their outputs, as in testdata.
func TestRealPrograms(t *testing.T) {
	bin := os.Getenv("SEER_TEST_AGENTS")
	if bin == "" {
		t.Skip("SEER_TEST_AGENTS names no folder with agents")
	}
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(name+" tool", func(t *testing.T) { realTool(t, bin, name) })
		t.Run(name+" limits", func(t *testing.T) { realLimits(t, bin, name) })
		t.Run(name+" slow tool", func(t *testing.T) { realSlowTool(t, bin, name) })
		t.Run(name+" no server", func(t *testing.T) { realNoServer(t, bin, name) })
		t.Run(name+" 401", func(t *testing.T) { realNoLogin(t, bin, name) })
		t.Run(name+" interrupted", func(t *testing.T) {
			try := &realTry{script: "turns:\n  - {say: hi, fault: {hang: 600s, times: 1000}}\n", interrupt: true}
			if try.run(t, bin, name); try.outcome.Reason != driver.Cancelled {
				t.Errorf("%+v, exit code %d", try.outcome, try.exit)
			}
		})
	}
}

func realTool(t *testing.T, bin, name string) {
	try := &realTry{script: toolScript}
	try.run(t, bin, name)
	const want = "I add.|calc add completed 5|calc fail failed it failed|The sum is 5."
	if text := story(try.updates); text != want || try.outcome.Reason != driver.EndTurn || try.exit != 0 {
		t.Errorf("%+v, exit code %d, the agent did\n%s\nand not\n%s", try.outcome, try.exit, text, want)
	}
}

// realLimits: the agent has one tool of its own, those of the server, and two turns.
func realLimits(t *testing.T, bin, name string) {
	try := &realTry{script: toolScript, maxTurns: 2, tools: map[string][]string{"claude": {"Bash"}, "gemini": {"run_shell_command"}, "opencode": {"bash"}}}
	p := try.run(t, bin, name)
	if want := driver.MaxTurnRequests; p.Uses("MaxTurns") && try.outcome.Reason != want {
		t.Errorf("%+v, and not %s", try.outcome, want)
	}
	for _, body := range try.offered {
		if strings.Contains(body, "calc_") && p.Uses("Tools") && (strings.Contains(strings.ToLower(body), `"name":"read`) || !strings.Contains(body, `"`+try.tools[name][0]+`"`)) {
			t.Errorf("the tools are not limited: %.2000s", body)
		}
	}
}

func realSlowTool(t *testing.T, bin, name string) {
	if testing.Short() {
		t.Skip("it takes longer than the limits of MCP clients, which are about a minute")
	}
	try := &realTry{script: "turns:\n  - {call: calc/wait, with: {seconds: 75}}\n  - {say: Done.}\n"}
	try.run(t, bin, name)
	if text := story(try.updates); !strings.HasSuffix(text, "|Done.") || !strings.Contains(text, "completed") || !strings.Contains(text, "waited") {
		t.Errorf("the agent did %s", text)
	}
}

// realNoServer: only Codex refuses to begin without its MCP server, and only Claude Code says that
// it does.
func realNoServer(t *testing.T, bin, name string) {
	try := &realTry{script: toolScript, server: "/bin/false"}
	try.run(t, bin, name)
	told := false
	for _, u := range try.updates {
		told = told || strings.Contains(fmt.Sprint(u.Update["mcp_servers"]), "failed")
	}
	want := driver.Outcome{Reason: driver.EndTurn}
	if name == "codex" {
		want = driver.Outcome{Reason: driver.Failed, Error: "the program ended its output before its turn"}
	}
	if try.outcome != want || told != (name == "claude") || (try.exit == 0) != (name != "codex") {
		t.Errorf("%+v, exit code %d, told: %v", try.outcome, try.exit, told)
	}
}

func realNoLogin(t *testing.T, bin, name string) {
	if testing.Short() {
		t.Skip("some try again for minutes")
	}
	try := &realTry{script: "turns:\n  - {say: hi, fault: {status: 401, times: 1000}}\n"}
	try.run(t, bin, name)
	if try.outcome.Reason != driver.Failed || !strings.Contains(try.outcome.Error, "the script has this request fail") {
		t.Errorf("%+v, exit code %d", try.outcome, try.exit)
	}
}

// run starts the program of a profile.
func (try *realTry) run(t *testing.T, bin, name string) *profile.Profile {
	t.Helper()
	p, err := profile.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	found, err := p.Find(t.Context(), func(key string) string { return map[string]string{"PATH": bin + ":/usr/bin:/bin", "HOME": home}[key] })
	if err != nil {
		t.Fatal(err)
	}
	model, asked := try.model(t)
	server := profile.Server{Name: "calc", Command: "/usr/bin/python3", Args: []string{absolute(t, "testdata/calc.py")}}
	if try.server != "" {
		server = profile.Server{Name: "calc", Command: try.server}
	}
	// A model that Codex does not know gets plain tools; with others it calls tools from JavaScript.
	data := profile.Data{Model: "scripted", ModelURL: model, Upstream: p.Upstream, Token: "none", Servers: []profile.Server{server}, Home: home,
		MCPFile: filepath.Join(home, "mcp.json"), Workspace: t.TempDir(), AsRoot: os.Getuid() == 0, MaxTurns: try.maxTurns, Tools: try.tools[name]}
	rendered, err := p.Render(data)
	if err != nil {
		t.Fatal(err)
	}
	rendered.Files["mcp.json"] = profile.MCPFile(data.Servers)
	place(t, home, rendered.Files)
	cmd := exec.Command(found.Argv[0], append(found.Argv[1:], rendered.Args...)...)
	cmd.Dir, cmd.Env = data.Workspace, []string{"HOME=" + home, "PATH=" + found.Search}
	for key, value := range rendered.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	try.drive(t, cmd, p, data, asked)
	t.Logf("%s %s: %+v, exit code %d, %d updates", p.Title, found.Version, try.outcome, try.exit, len(try.updates))
	return p
}

// model serves the script. asked gets a value when it has been asked for the first time.
func (try *realTry) model(t *testing.T) (url string, asked chan struct{}) {
	script, err := mockmodel.Parse("script", []byte(try.script))
	if err != nil {
		t.Fatal(err)
	}
	scripted, asked := mockmodel.New(script, nil), make(chan struct{}, 1)
	bodies := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		bodies <- string(body)
		select {
		case asked <- struct{}{}:
		default:
		}
		scripted.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	try.bodies = bodies
	return server.URL, asked
}

func place(t *testing.T, home string, files map[string]string) {
	for file, text := range files {
		file = filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// drive speaks with the program, and ends it as a caller does.
func (try *realTry) drive(t *testing.T, cmd *exec.Cmd, p *profile.Profile, data profile.Data, asked chan struct{}) {
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
	limit := time.AfterFunc(6*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer limit.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if try.interrupt {
		go func() {
			<-asked
			cancel()
			if p.Driver != driver.ACP {
				cmd.Process.Signal(os.Interrupt)
			}
		}()
	}
	task := driver.Task{Prompt: "go\n", Dir: data.Workspace, Servers: data.Servers, Model: data.Model}
	if p.Name == "gemini" { // it does not exit while an MCP server runs
		task.Ended = func() {
			time.AfterFunc(3*time.Second, func() { cmd.Process.Signal(syscall.SIGTERM) })
		}
	}
	output := io.TeeReader(stdout, recording(t))
	try.outcome, err = driver.Run(ctx, p.Driver, stdin, output, task, func(u driver.Update) { try.updates = append(try.updates, u) })
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // the exit code says the same
	try.exit = cmd.ProcessState.ExitCode()
	for len(try.bodies) > 0 {
		try.offered = append(try.offered, <-try.bodies)
	}
}

func recording(t *testing.T) io.Writer {
	dir := os.Getenv("SEER_RECORD")
	if dir == "" {
		return io.Discard
	}
	f, err := os.Create(filepath.Join(dir, strings.ReplaceAll(filepath.Base(t.Name()), "_", "-")+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func absolute(t *testing.T, path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
