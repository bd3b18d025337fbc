package shell_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/mcptest"
	"github.com/seer-engine/seer/engine/mcp/internal/serve"
	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestToolsSayWhatTheyDo(t *testing.T) {
	s := agent(t, shell.Options{Files: t.TempDir()})
	got, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	reading := map[string]bool{"list_processes": true, "wait_process": true, "process_output": true, "usage": true, "read_file": true, "list_files": true}
	var names []string
	for _, tool := range got.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.Title == "" || tool.Annotations.ReadOnlyHint != reading[tool.Name] || tool.InputSchema == nil {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
	want := "download edit_file list_files list_processes process_output read_file run_command run_python start_process stop_process upload usage wait_process write_file"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tools %s", got)
	}
	if !strings.Contains(s.InitializeResult().Instructions, "wait_process") {
		t.Error("the instructions do not say how to wait")
	}
}

func TestUsageIsTold(t *testing.T) {
	a := use(t, agent(t, shell.Options{}), "usage", nil)
	if n, _ := a.object["cpu_count"].(float64); n <= 0 {
		t.Errorf("got %s", textOf(a.raw))
	}
}

func TestTheKeyOfASessionIsEnoughAndNoMore(t *testing.T) {
	b := box(t)
	c, err := client.New(b.session.Endpoint, b.session.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Config(t.Context()); protocol.CodeOf(err) != protocol.Forbidden {
		t.Errorf("the configuration: %v", err)
	}
	wrong := b.session
	wrong.Token = protocol.NewToken()
	s := agentOf(t, wrong, "test", shell.Options{}, nil)
	for tool, args := range map[string]object{"run_command": {"command": "true"}, "run_python": {"code": "1"}, "read_file": {"path": "x"}, "list_files": {}, "usage": {}} {
		refused(t, s, tool, args, "the session's key was refused")
	}
}

func TestASessionThatIsNotThereIsSaid(t *testing.T) {
	err := shell.Serve(t.Context(), shell.FromFile(t.TempDir()+"/session.json"), nil, shell.Options{})
	if err == nil || !strings.Contains(err.Error(), "there is no session file") {
		t.Errorf("got %v", err)
	}
	gone := client.Session{Version: 1, Kind: protocol.SessionShell, Endpoint: "unix:/nowhere/s", Token: protocol.NewToken(), Sandbox: "sb-gone"}
	s := agentOf(t, gone, "test", shell.Options{}, nil)
	refused(t, s, "run_command", object{"command": "true"}, "the sandbox has ended")
}

func TestTwoAgentsOverHTTP(t *testing.T) {
	b := box(t)
	h, end, err := shell.Handler(t.Context(), shell.Fixed(b.session), serve.Guard{Token: "0123456789abcdef"}, shell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := mcptest.HTTP(t, h, end)
	connect := func(token string) (*sdkmcp.ClientSession, error) {
		return sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "0"}, nil).Connect(t.Context(),
			&sdkmcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: testkit.Bearer(token)}, DisableStandaloneSSE: true}, nil)
	}
	if _, err := connect("wrong"); err == nil {
		t.Error("a wrong token was taken")
	}
	one, err1 := connect("0123456789abcdef")
	two, err2 := connect("0123456789abcdef")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	defer two.Close()
	done := make(chan answer, 2)
	for _, s := range []*sdkmcp.ClientSession{one, two} {
		go func() {
			done <- try(t, s, "run_python", object{"code": "count = globals().get('count', 0) + 1\nimport time; time.sleep(0.1)\ncount"})
		}()
	}
	got := (<-done).text("result") + (<-done).text("result")
	if got != "12" && got != "21" {
		t.Errorf("counted %q", got)
	}
	if _, _, err := shell.Handler(t.Context(), shell.Fixed(b.session), serve.Guard{Token: "short"}, shell.Options{}); err == nil {
		t.Error("a short token was taken")
	}
}
