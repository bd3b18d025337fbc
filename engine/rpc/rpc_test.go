package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/rpc"
	"github.com/seer-engine/seer/internal/testengine"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

var installed testengine.Installation

func TestMain(m *testing.M) { testengine.Main(m, &installed) }

// client speaks to a server over pipes.
type client struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Reader
}

// serve starts a server; the channel has its error when it has ended.
func serve(t *testing.T, e *engine.Engine) (*client, <-chan error) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	s := &rpc.Server{Engine: e, Version: "1.2.3"}
	go func() {
		ended <- s.Serve(context.Background(), in, out)
		out.Close()
	}()
	c := &client{t: t, in: toServer, out: bufio.NewReader(fromServer)}
	t.Cleanup(func() { toServer.Close() })
	return c, ended
}

// answer sends a line, and reads lines until one is an answer.
func (c *client) answer(line string) string {
	c.t.Helper()
	c.send(line)
	return c.read()
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the next answer.
func (c *client) read() string {
	c.t.Helper()
	for {
		got, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		if !strings.Contains(got, `"method"`) {
			return got
		}
	}
}

var ids atomic.Int64

func request(method string, params any) string {
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": ids.Add(1), "method": method, "params": params})
	return string(text)
}

// A bad message is one error, and the next one is answered.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, installed.Engine(t))
	for line, want := range map[string]string{
		`{`: "-32700",
		`{"jsonrpc":"2.0","id":0,"method":"no.such"}`:                                          "-32601",
		request("initialize", map[string]any{"protocol": 7}):                                   `"kind":"unsupported"`,
		request("initialize", map[string]any{"protokoll": 1}):                                  "unknown field",
		request("sandbox.open", map[string]any{"sandbox": "sb-no"}):                            `"kind":"not_found"`,
		request("sandbox.exec", map[string]any{"sandbox": "sb-no"}):                            "exactly one",
		request("sandbox.exec", map[string]any{"sandbox": "sb-no", "python": "1", "cwd": "/"}): "takes no cwd",
		request("sandbox.exec", map[string]any{"sandbox": "sb-no", "shell": "true"}):           `"kind":"not_found"`,
		request("sandbox.start", map[string]any{"experiment": 1}):                              `"kind":"config"`,
		request("sandbox.start", map[string]any{"dir": "relative"}):                            "not absolute",
		request("sandbox.serve", map[string]any{"file": "relative"}):                           "must be absolute",
		request("session.new", map[string]any{"kind": "notebook"}):                             "needs a sandbox",
		request("session.new", map[string]any{"workspace": map[string]any{"files": []string{"relative"}, "libraries": []any{map[string]any{"path": "too"}}}}):                                                                 `"too\" of the workspace is not absolute\nthe path \"relative\"`,
		request("session.new", map[string]any{"workspace": map[string]any{"files": []string{"/no such"}, "libraries": []any{map[string]any{"source": "code", "name": "os"}, map[string]any{"source": "web", "path": "/x"}}}}): "standard library",
		request("session.end", map[string]any{"sandbox": "sb-no", "name": "x"}): `"kind":"not_found"`,
		request("initialize", map[string]any{"protocol": 1}):                    `"version":"1.2.3"`,
	} {
		if got := c.answer(line); !strings.Contains(got, want) {
			t.Errorf("%s\n is answered with %s, not %s", line, got, want)
		}
	}
}

// A start waits for capacity as long as the client says, and not at all by itself.
func TestMaxWait(t *testing.T) {
	t.Parallel()
	e := installed.Engine(t, func(o *engine.Options) {
		o.Providers = map[string]sdk.Provider{"rented": enginetest.NewProvider("rented", enginetest.NewClock(), enginetest.Script{
			Offers: []sdk.Offer{{ID: "one", GPU: "H100", GPUCount: 1}}, Sold: []string{"H100"},
		})}
	})
	c, _ := serve(t, e)
	dir := t.TempDir()
	for wait, want := range map[float64]string{0: "no H100 is free", 1e-6: "nothing was free within 1µs", -1: "max_wait is -1"} {
		got := c.answer(request("sandbox.start", map[string]any{"dir": dir, "max_wait": wait,
			"experiment": map[string]any{"sandbox": map[string]any{"provider": "rented", "gpu": "H100", "timeout": 600}}}))
		if !strings.Contains(got, want) || wait == 0 && strings.Contains(got, "within") {
			t.Errorf("max_wait %g: %s", wait, got)
		}
	}
}

// What a client has started ends with its input; what it has detached does not.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	e := installed.Engine(t)
	c, ended := serve(t, e)
	dir := t.TempDir()
	start := func() string {
		got := c.answer(request("sandbox.start", map[string]any{"dir": dir, "experiment": map[string]any{"sandbox": map[string]any{"provider": "local", "timeout": 600}}}))
		var answer struct {
			Result struct {
				ID string `json:"id"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.Result.ID == "" {
			t.Fatalf("%v\n%s", err, got)
		}
		return answer.Result.ID
	}
	one, two := start(), start()
	if got := c.answer(request("sandbox.detach", map[string]any{"sandbox": two, "seconds": 100})); strings.Contains(got, "error") {
		t.Fatal(got)
	}
	c.in.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for id, live := range map[string]bool{one: false, two: true} {
		info, err := e.Show(t.Context(), id)
		if err != nil || info.State.Live() != live {
			t.Errorf("%s: %s, %v", id, info.State, err)
		}
	}
	if err := e.Terminate(t.Context(), two); err != nil {
		t.Error(err)
	}
}

// Copies that the client does not hear of are ended.
func TestForkThatFailed(t *testing.T) {
	t.Parallel()
	e := installed.Engine(t)
	exp, err := experiment.Parse([]byte(`{"sandbox": {"provider": "local", "timeout": 600}}`), filepath.Join(t.TempDir(), "experiment"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	lost := errors.New("copy 2 is lost")
	for _, test := range []struct {
		ctx          context.Context
		failed, want error
	}{{t.Context(), lost, lost}, {cancelled, nil, context.Canceled}, {t.Context(), nil, nil}} {
		b, err := e.Up(t.Context(), exp, engine.UpOptions{Attached: rpc.Outlives})
		if err != nil {
			t.Fatal(err)
		}
		result, open, err := rpc.Forked(test.ctx, []*engine.Sandbox{b}, test.failed)
		good := test.want == nil
		if !errors.Is(err, test.want) || len(result.Sandboxes) != open || (open == 1) != good {
			t.Errorf("%v: %+v, %d open, %v", test.want, result, open, err)
		}
		if info, err := e.Show(t.Context(), b.ID()); err != nil || info.State.Live() != good {
			t.Errorf("%v: the copy is %s, %v", test.want, info.State, err)
		}
		if good {
			if err := errors.Join(b.Terminate(t.Context()), b.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A command that is killed because its sandbox ends says so: its exit code is also that of one that
// was killed because the memory was full.
func TestExecWhoseSandboxEnds(t *testing.T) {
	t.Parallel()
	e := installed.Engine(t)
	c, _ := serve(t, e)
	var started struct {
		Result struct {
			ID string `json:"id"`
		} `json:"result"`
	}
	got := c.answer(request("sandbox.start", map[string]any{"dir": t.TempDir(), "experiment": map[string]any{"sandbox": map[string]any{"provider": "local", "timeout": 600}}}))
	if err := json.Unmarshal([]byte(got), &started); err != nil || started.Result.ID == "" {
		t.Fatalf("%v\n%s", err, got)
	}
	id := started.Result.ID
	b, err := e.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c.send(request("sandbox.exec", map[string]any{"sandbox": id, "shell": "touch /workspace/running; sleep 1000"}))
	testkit.EventuallyNil(t, "the command to begin", func() error {
		_, err := b.ReadFile(t.Context(), "/workspace/running")
		return err
	})
	if err := e.Terminate(t.Context(), id); err != nil {
		t.Error(err)
	}
	var answer struct {
		Result rpc.ExecResult  `json:"result"`
		Error  json.RawMessage `json:"error"` // where the end of the sandbox was seen before that of the command
	}
	got = c.read()
	if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.Error == nil && !strings.Contains(string(answer.Result.Stderr), "killed with its sandbox: ") {
		t.Errorf("%v\n%s\n%s", err, got, answer.Result.Stderr)
	}
}
