package notebook_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/engine/notebook"
)

const patience = 60 * time.Second

// service runs the real notebook service.
func service(t *testing.T, python string) (notebook.Address, string) {
	t.Helper()
	root, token := t.TempDir(), "token-of-the-notebooks"
	config, err := json.Marshal(map[string]any{
		"root": root, "notebooks_dir": "notebooks", "ip": "127.0.0.1", "port": 0, "token": token, "base_url": "/", "lab": false,
		"setup":      []map[string]any{{"name": "greeting", "code": "greeting = 'hello from set-up'", "hidden": false}},
		"kernel_env": map[string]string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-m", "seer_notebook", "--config", file)
	cmd.Env = append(os.Environ(), "PYTHONPATH=../../python", "PYTHONDONTWRITEBYTECODE=1", "HOME="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url := make(chan string, 1)
	var log strings.Builder
	var mu sync.Mutex
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			mu.Lock()
			log.WriteString(lines.Text() + "\n")
			mu.Unlock()
			if _, at, ok := strings.Cut(lines.Text(), "listening at "); ok {
				url <- strings.TrimSpace(at)
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-read
		_ = cmd.Wait() // its exit code does not matter here
		if t.Failed() {
			t.Log(log.String())
		}
	})
	select {
	case at := <-url:
		a, err := notebook.Parse(at + "?token=" + token)
		if err != nil {
			t.Fatal(err)
		}
		return a, root
	case <-read:
	case <-time.After(patience):
	}
	mu.Lock()
	defer mu.Unlock()
	t.Fatalf("the notebook service has not started:\n%s", log.String())
	return notebook.Address{}, ""
}

// agent is an official client.
type agent struct {
	t       *testing.T
	session *sdkmcp.ClientSession
	end     func()

	mu       sync.Mutex
	progress []sdkmcp.ProgressNotificationParams
}

func newAgent(t *testing.T, o mcpnotebook.Options) *agent {
	t.Helper()
	a := &agent{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	here, there := sdkmcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- mcpnotebook.Serve(ctx, o, there) }()
	client := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "0"}, &sdkmcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdkmcp.ProgressNotificationClientRequest) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.progress = append(a.progress, *r.Params)
		},
	})
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		cancel()
		t.Fatalf("%v; %v", err, <-served)
	}
	a.session = session
	a.end = sync.OnceFunc(func() {
		session.Close()
		<-served
		cancel()
	})
	t.Cleanup(a.end)
	return a
}

func (a *agent) try(ctx context.Context, tool string, args map[string]any) (*sdkmcp.CallToolResult, error) {
	p := &sdkmcp.CallToolParams{Name: tool, Arguments: args}
	p.SetProgressToken(tool)
	return a.session.CallTool(ctx, p)
}

// call calls a tool that must answer.
func (a *agent) call(tool string, args map[string]any) *sdkmcp.CallToolResult {
	a.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	r, err := a.try(ctx, tool, args)
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	return r
}

// do calls a tool that must succeed, and reads its structured content.
func (a *agent) do(tool string, args map[string]any) answer {
	a.t.Helper()
	r := a.call(tool, args)
	if r.IsError {
		a.t.Fatalf("%s: %s", tool, contentText(r))
	}
	return read(a.t, r)
}

// fail calls a tool that must fail, and returns what it says.
func (a *agent) fail(tool string, args map[string]any) string {
	a.t.Helper()
	r := a.call(tool, args)
	if !r.IsError {
		a.t.Fatalf("%s has not failed: %s", tool, contentText(r))
	}
	return contentText(r)
}

// answer is what the tests look at of all structured contents.
type answer struct {
	result    *sdkmcp.CallToolResult
	SessionID string `json:"session_id"`
	Path      string `json:"notebook_path"`
	URL       string `json:"jupyter_url"`
	State     string `json:"state"`
	CellID    string `json:"cell_id"`
	CellIndex *int   `json:"cell_index"`
	Exec      string `json:"execution_id"`
	Saved     string `json:"saved_to"`
	Warning   string `json:"warning"`
	Next      string `json:"next"`
	Total     int    `json:"total"`
	Outputs   []struct {
		Type, Name, MIME, Text, EName, EValue, Note string
		Image                                       int
	}
	Cells    json.RawMessage
	Dropped  string
	Sessions []struct {
		ID    string `json:"session_id"`
		InUse bool   `json:"in_use"`
	}
	Variables []struct{ Name, Type, Preview string }
	Restored  *struct {
		Cells  int
		Errors []struct {
			Index  int `json:"cell_index"`
			EName  string
			EValue string
		}
	}
}

func read(t *testing.T, r *sdkmcp.CallToolResult) answer {
	t.Helper()
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{result: r}
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return a
}

func (a answer) text() string {
	var b strings.Builder
	for _, o := range a.Outputs {
		fmt.Fprintf(&b, "%s %s|%s\n", o.Type, o.Name, o.Text)
	}
	return b.String()
}

func contentText(r *sdkmcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*sdkmcp.TextContent); ok {
			b.WriteString(text.Text + "\n")
		}
	}
	return b.String()
}

func images(r *sdkmcp.CallToolResult) (list []*sdkmcp.ImageContent) {
	for _, c := range r.Content {
		if image, ok := c.(*sdkmcp.ImageContent); ok {
			list = append(list, image)
		}
	}
	return list
}

func fileHas(path, text string) bool {
	data, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(data), text)
}
