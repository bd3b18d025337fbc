package run_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/testkit"
)

// profiled are the options of an agent whose program is testdata/program.py under the name of the
// provider's, and its engine. This test program is the seer program in its confinement.
func profiled(t *testing.T, provider string) (*engine.Engine, run.AgentOptions) {
	t.Helper()
	script, err := os.ReadFile("testdata/program.py")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	program := filepath.Join(bin, provider)
	testkit.WriteProgram(t, program, string(script))
	o := alone(t, "")
	if o.Seer, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	o.Agent = &experiment.Agent{Provider: provider, Prompt: "Do it.", Isolation: o.Agent.Isolation, Network: "none"}
	if provider == experiment.ProviderACP {
		o.Agent.Command = []string{program}
	}
	home := t.TempDir()
	testkit.WriteFile(t, filepath.Join(home, ".config/seer/agents/deaf.yaml"), "program: /bin/true\ndriver: lines\n")
	env := map[string]string{"HOME": home, "PATH": bin + ":" + os.Getenv("PATH")}
	return installed.Engine(t, func(o *engine.Options) {
		o.LookupEnv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	}), o
}

// seen keeps the events of a run.
type seen struct {
	mu     sync.Mutex
	events []event.Event
}

func (s *seen) take(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// all are the events of a type, in order.
func all[D event.Data](s *seen) (found []D) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if d, ok := e.Data.(D); ok {
			found = append(found, d)
		}
	}
	return found
}

// TestLimitsAndServersOfEachProgram: each of the four has three MCP servers of which one works, and
// may have two turns. The run says of each the same.
func TestLimitsAndServersOfEachProgram(t *testing.T) {
	t.Parallel()
	var bridged atomic.Int32
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			if bridged.Add(1); r.Header.Get("X-Key") != "the key" {
				t.Errorf("headers: %v", r.Header)
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)
		case "/refuses":
			http.Error(w, "who are you", http.StatusUnauthorized)
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	defer model.Close()
	python := func(code string) map[string]any {
		return map[string]any{"command": "python3", "args": []any{"-c", code}}
	}
	for _, c := range []struct {
		provider string
		end      event.AgentTurnEnded
		code     int
		requests int
	}{
		{"claude", event.AgentTurnEnded{Reason: "end_turn"}, 0, 0},
		{"codex", event.AgentTurnEnded{Reason: "max_turn_requests", Error: "reached max_turns 2"}, 1, 2},
		{"gemini", event.AgentTurnEnded{Reason: "end_turn"}, 0, 0},
		{"opencode", event.AgentTurnEnded{Reason: "max_turn_requests", Error: "reached max_turns 2"}, 1, 2},
	} {
		t.Run(c.provider, func(t *testing.T) {
			e, o := profiled(t, c.provider)
			o.Agent.Model, o.Agent.BaseURL, o.Agent.MaxTurns = "m", model.URL, 2
			o.Agent.Servers = map[string]map[string]any{
				"works":  python(`print("ready\n{\"method\":\"hello\"}\n{\"id\":1,\"result\":{}}")`),
				"dies":   python(`import sys; sys.exit("no module named docs")`),
				"absent": {"command": "./nothing"},
				"far":    {"url": model.URL + "/mcp", "headers": map[string]any{"X-Key": "the key"}},
				"closed": {"url": model.URL + "/refuses"},
			}
			before := bridged.Load()
			if c.provider == "gemini" { // it goes on after its turn
				o = run.AgentAfter(o, func(d time.Duration, end func()) {
					if d != 10*time.Second {
						t.Errorf("it may go on for %s", d)
					}
					end()
				})
			}
			var s seen
			o.Progress = s.take
			result, err := run.Agent(t.Context(), e, o)
			ends, failed := all[event.AgentTurnEnded](&s), all[event.AgentServerFailed](&s)
			if err != nil || result.ExitCode != c.code || len(ends) != 1 || ends[0] != c.end || len(all[event.ModelRequest](&s)) != c.requests {
				t.Errorf("%+v, %v, %+v", result, err, ends)
			}
			slices.SortFunc(failed, func(a, b event.AgentServerFailed) int { return strings.Compare(a.Server, b.Server) })
			want := []event.AgentServerFailed{
				{Server: "absent", Problem: "the command cannot be started: fork/exec ./nothing: no such file or directory"},
				{Server: "closed", Problem: "it answered initialize with an error: the MCP server at " + model.URL + ": it answered 401 Unauthorized: who are you"},
				{Server: "dies", Problem: "it ended with exit code 1 before it answered initialize; it printed: no module named docs"},
			}
			if !slices.Equal(failed, want) {
				t.Errorf("servers: %+v", failed)
			}
			if n := bridged.Load() - before; n != 1 {
				t.Errorf("the far server was asked %d times", n)
			}
		})
	}
}

// TestServersAreNotStarted: a program that leaves its MCP servers out says nothing of it.
func TestServersAreNotStarted(t *testing.T) {
	t.Parallel()
	e, o := profiled(t, "deaf")
	o.Agent.Servers = map[string]map[string]any{"docs": {"command": "python3"}}
	var s seen
	o.Progress = s.take
	result, err := run.Agent(t.Context(), e, o)
	want := []event.AgentServerFailed{{Server: "docs", Problem: "the agent's program has not started it"}}
	if failed := all[event.AgentServerFailed](&s); err != nil || result.ExitCode != 0 || !slices.Equal(failed, want) {
		t.Errorf("%+v, %v, %+v", result, err, failed)
	}
}

// TestAgentThatIsDeaf: an agent that is asked to end by its protocol and does not is ended.
func TestAgentThatIsDeaf(t *testing.T) {
	t.Parallel()
	e, o := profiled(t, experiment.ProviderACP)
	asked := make(chan time.Duration, 1)
	o = run.AgentAfter(o, func(d time.Duration, end func()) {
		asked <- d
		end()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var s seen
	o.Progress = func(e event.Event) {
		s.take(e)
		if _, is := e.Data.(event.AgentUpdate); is {
			cancel()
		}
	}
	_, err := run.Agent(ctx, e, o)
	if engine.KindOf(err) != engine.KindCancelled {
		t.Errorf("%v", err)
	}
	if ends := all[event.AgentTurnEnded](&s); len(ends) != 1 || ends[0].Reason != "cancelled" {
		t.Errorf("%+v", ends)
	}
	if d := <-asked; d != 2*time.Second {
		t.Errorf("it had %s to end its turn", d)
	}
}

// TestFilesOfTheSystem: these are there in each confinement, and nothing can be put over links.
func TestFilesOfTheSystem(t *testing.T) {
	mine := t.TempDir()
	for _, name := range []string{"bin", "sh"} {
		if err := os.Symlink(map[string]string{"bin": "/usr/bin", "sh": "/usr/bin/sh"}[name], filepath.Join(mine, name)); err != nil {
			t.Fatal(err)
		}
	}
	system, err := filepath.EvalSymlinks("/bin")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/usr/bin/sh": true, "/bin/sh": system == "/usr/bin", mine + "/sh": false, mine + "/bin/sh": false, "/no/such": false, "/etc/passwd": false,
	} {
		if got := run.OfSystem(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
