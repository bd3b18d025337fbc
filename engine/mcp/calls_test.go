package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func field(t *testing.T, r *sdkmcp.CallToolResult, name string) any {
	t.Helper()
	object, ok := r.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("no structured content in %s", testkit.JSON(t, r))
	}
	return object[name]
}

// askUntil asks for a call until the answer is so.
func askUntil(t *testing.T, s *sdkmcp.ClientSession, id any, what string, is func(got *sdkmcp.CallToolResult) bool) (got *sdkmcp.CallToolResult) {
	t.Helper()
	testkit.EventuallyNil(t, what, func() error {
		got = call(t, s, "call-result", map[string]any{"call": id})
		if !is(got) {
			return errors.New("the last answer is " + testkit.JSON(t, got))
		}
		return nil
	})
	return got
}

func isDone(t *testing.T) func(*sdkmcp.CallToolResult) bool {
	return func(got *sdkmcp.CallToolResult) bool { return got.IsError || field(t, got, "call") == nil }
}

func TestALongCallIsHandedOver(t *testing.T) {
	r := newRuntime(t, function("train", `{"type":"integer"}`))
	finish := make(chan struct{})
	r.answers(func(c *served) {
		c.prints("loading\n")
		c.prints("\repoch 1:  30%|###       | 3/10 [00:03<00:07,  1.0it/s]")
		<-finish
		c.result("7")
	})
	s := connectAs(t, r.fixed(), "test", mcp.Options{Wait: 300 * time.Millisecond}, nil)
	got := call(t, s, "train", nil)
	id, _ := field(t, got, "call").(string)
	if got.IsError || id == "" || field(t, got, "state") != "running" {
		t.Fatalf("got %s", testkit.JSON(t, got))
	}
	got = askUntil(t, s, id, "what it prints", func(got *sdkmcp.CallToolResult) bool { return field(t, got, "progress") != nil })
	if p := testkit.JSON(t, field(t, got, "progress")); p != `{"message":"epoch 1 00:03\u003c00:07,  1.0it/s","n":3,"total":10}` {
		t.Errorf("progress %s", p)
	}
	if tail := field(t, got, "output_tail"); !strings.HasPrefix(tail.(string), "loading\n") {
		t.Errorf("tail %q", tail)
	}
	if again := call(t, s, "call-result", map[string]any{"call": id}); field(t, again, "call") != id {
		t.Errorf("asked again: %s", testkit.JSON(t, again))
	}
	resource, err := s.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: "seer://calls/" + id})
	if err != nil || !strings.Contains(resource.Contents[0].Text, `"state":"running"`) {
		t.Errorf("resource %v %v", resource, err)
	}
	close(finish)
	askUntil(t, s, id, "the end", isDone(t))
	for range 2 { // as often as it is asked for
		if done := call(t, s, "call-result", map[string]any{"call": id}); done.IsError || field(t, done, "result") != 7.0 {
			t.Errorf("result %s", testkit.JSON(t, done))
		}
	}
}

func TestACallOfAServerThatIsGoneIsFound(t *testing.T) {
	r := newRuntime(t, function("train", ""))
	finish := make(chan struct{})
	r.answers(func(c *served) {
		c.prints("begun\n")
		<-finish
		c.result("7")
	})
	o := mcp.Options{Wait: 200 * time.Millisecond}
	first := connectAs(t, r.fixed(), "test", o, nil)
	id := field(t, call(t, first, "train", nil), "call")
	begun := func(got *sdkmcp.CallToolResult) bool { return strings.Contains(text(got), "begun") }
	askUntil(t, first, id, "what it prints", begun)
	first.Close()
	c := r.call("train")
	testkit.Eventually(t, "the end of the connection", func() bool { return c.followers() == 0 })
	if !c.isDetached() {
		t.Fatal("the sandbox cancels the call, of which the client was told that it goes on")
	}
	select {
	case <-c.cancelled:
		t.Fatal("the call of a client that vanished was cancelled at once")
	default:
	}
	second := connectAs(t, r.fixed(), "test", o, nil)
	askUntil(t, second, id, "what it has printed", begun)
	close(finish)
	if got := askUntil(t, second, id, "the end", isDone(t)); field(t, got, "result") != 7.0 {
		t.Errorf("result %s", testkit.JSON(t, got))
	}
}

func TestCallsCanBeEnded(t *testing.T) {
	r := newRuntime(t, function("numbers", ""))
	r.face.Functions[0].Stream = true
	r.answers(func(c *served) {
		c.item("1")
		c.item("2")
		<-c.cancelled
	})
	s := connectAs(t, r.fixed(), "test", mcp.Options{Wait: 200 * time.Millisecond}, nil)
	id := field(t, call(t, s, "numbers", nil), "call")
	askUntil(t, s, id, "two items", func(got *sdkmcp.CallToolResult) bool { return field(t, got, "items") == 2.0 })
	got := call(t, s, "call-cancel", map[string]any{"call": id})
	if field(t, got, "state") == "running" { // the machine was slow
		askUntil(t, s, id, "the end", isDone(t))
		got = call(t, s, "call-cancel", map[string]any{"call": id})
	}
	if field(t, got, "state") != "cancelled" || testkit.JSON(t, field(t, got, "result")) != "[1,2]" {
		t.Errorf("ended: %s", testkit.JSON(t, got))
	}
	for _, arguments := range []any{map[string]any{"call": "c-none-1"}, map[string]any{"call": 3}, map[string]any{"call": id, "x": 1}, nil} {
		if got := call(t, s, "call-result", arguments); !got.IsError {
			t.Errorf("%v gave %s", arguments, testkit.JSON(t, got))
		}
	}
}

// heard is what a client is told during a call.
type heard struct {
	mu       sync.Mutex
	progress []*sdkmcp.ProgressNotificationParams
	logs     []string
	news     chan struct{}
}

func listen() (*heard, *sdkmcp.ClientOptions) {
	h := &heard{news: make(chan struct{}, 1000)}
	return h, &sdkmcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdkmcp.ProgressNotificationClientRequest) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.progress = append(h.progress, r.Params)
			h.news <- struct{}{}
		},
		LoggingMessageHandler: func(_ context.Context, r *sdkmcp.LoggingMessageRequest) { //nolint:staticcheck // for the versions of MCP that most clients speak
			h.mu.Lock()
			defer h.mu.Unlock()
			h.logs = append(h.logs, r.Params.Logger+": "+r.Params.Data.(string))
			h.news <- struct{}{}
		},
	}
}

// until waits for a condition that the client's news make true.
func (h *heard) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.After(patience)
	for {
		h.mu.Lock()
		ok := is()
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-h.news:
		case <-end:
			t.Fatalf("never heard %s; progress %s, logs %q", what, testkit.JSON(t, h.progress), h.logs)
		}
	}
}

func (h *heard) message(part string) func() bool {
	return func() bool {
		for _, p := range h.progress {
			if strings.Contains(p.Message, part) {
				return true
			}
		}
		return false
	}
}

func TestProgressReachesTheClient(t *testing.T) {
	for _, version := range versions {
		t.Run("version "+version, func(t *testing.T) { progressReaches(t, version) })
	}
}

func progressReaches(t *testing.T, version string) {
	r := newRuntime(t, function("train", ""))
	h, options := listen()
	step := make(chan struct{})
	r.answers(func(c *served) {
		c.queued(2)
		<-step
		for _, text := range []string{"half a ", "line\n", "\r 20%|## | 2/10 [x]", "\r 100%|####| 10/10 [x]\n", "\r 10%|# | 1/10 [second]"} {
			c.prints(text)
		}
		<-step
		c.result("1")
	})
	s := connectWith(t, r.fixed(), "test", mcp.Options{}, options, version)
	if version == handshake {
		if err := s.SetLoggingLevel(t.Context(), &sdkmcp.SetLoggingLevelParams{Level: "info"}); err != nil { //nolint:staticcheck // for the versions of MCP that most clients speak
			t.Fatal(err)
		}
	}
	params := &sdkmcp.CallToolParams{Name: "train", Meta: sdkmcp.Meta{sdkmcp.MetaKeyLogLevel: "info"}} //nolint:staticcheck // for the versions of MCP that most clients speak
	params.SetProgressToken("p1")
	done := make(chan *sdkmcp.CallToolResult, 1)
	go func() {
		got, err := s.CallTool(t.Context(), params)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	h.until(t, "of the queue", h.message("queued: 2 calls go first"))
	step <- struct{}{}
	h.until(t, "of the second bar", h.message("second"))
	h.until(t, "what was printed", func() bool { return strings.Join(h.logs, "") == "train: half a line\n" })
	step <- struct{}{}
	<-done
	h.mu.Lock()
	defer h.mu.Unlock()
	last := 0.0
	for _, p := range h.progress {
		if p.ProgressToken != "p1" || p.Progress <= last || p.Total != 0 && p.Total < p.Progress {
			t.Errorf("progress has to grow: %s", testkit.JSON(t, h.progress))
		}
		last = p.Progress
	}
}

func TestAStreamIsAList(t *testing.T) {
	f := function("numbers", `{"type":"integer"}`)
	f.Stream = true
	r := newRuntime(t, f)
	r.answers(func(c *served) {
		for range mcp.MaxItems + 5 {
			c.item("1")
		}
		c.result("null")
	})
	s := connect(t, r.fixed())
	got := call(t, s, "numbers", nil)
	if list, _ := field(t, got, "result").([]any); len(list) != mcp.MaxItems || field(t, got, "omitted") != 5.0 {
		t.Errorf("%d items, %v omitted", len(list), field(t, got, "omitted"))
	}
	r.answers(func(c *served) {
		c.item("1")
		c.fails(protocol.CallError{Code: protocol.CallRaised, Type: "ValueError", Message: "no more"})
	})
	got = call(t, s, "numbers", nil)
	if all := testkit.JSON(t, got.Content); !got.IsError || !strings.Contains(all, "ValueError: no more") || !strings.Contains(all, "[1]") {
		t.Errorf("a stream that breaks gave %s", testkit.JSON(t, got))
	}
}

func TestCallsAskForWhatMCPNeeds(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	options := make(chan protocol.CallOptions, 2)
	r.answers(func(c *served) {
		options <- c.head.CallOptions
		c.result("1")
	})
	call(t, connect(t, r.fixed()), "f", nil)
	o := <-options
	if o.HandleAbove == nil || *o.HandleAbove != mcp.DefaultHandleAbove || !o.Output || !strings.HasPrefix(o.Client, "mcp-") || o.Detach {
		t.Errorf("options %s", testkit.JSON(t, o))
	}
}

func TestAnnotationsAreTheAuthorsHints(t *testing.T) {
	yes := true
	f := function("f", "")
	f.Title, f.Hints = "Does F", sdk.Hints{ReadOnly: &yes}
	s := connect(t, newRuntime(t, f, function("g", "")).fixed())
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		data, _ := json.Marshal(tool.Annotations)
		switch tool.Name {
		case "f":
			if tool.Title != "Does F" || string(data) != `{"idempotentHint":false,"readOnlyHint":true,"title":"Does F"}` {
				t.Errorf("f has title %q, annotations %s", tool.Title, data)
			}
		case "g":
			if tool.Annotations != nil {
				t.Errorf("nothing is known of g, and it has %s", data)
			}
		}
	}
}
