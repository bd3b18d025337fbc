package mcp_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// runtime is as much of a runtime as a connection sees: one service.
type runtime struct {
	*httptest.Server
	endpoint  string
	mu        sync.Mutex
	face      sdk.Interface
	answer    func(r *http.Request, fn string, body []byte) (int, string)
	cancelled chan struct{}
}

func newRuntime(t *testing.T, functions ...sdk.Function) *runtime {
	t.Helper()
	r := &runtime{face: sdk.Interface{Module: "tools", Doc: "Tools of a test.", Functions: functions, CodeHash: "1"}, cancelled: make(chan struct{}, 1)}
	r.answer = func(_ *http.Request, _ string, body []byte) (int, string) {
		return 200, `{"result":` + string(body) + `}`
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	_ = r.Listener.Close()
	r.Listener, r.endpoint = l, "unix:"+socket
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func (r *runtime) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	face, answer := r.face, r.answer
	r.mu.Unlock()
	fn, isCall := strings.CutPrefix(req.URL.Path, "/v1/services/tools/call/")
	switch {
	case req.Header.Get("Authorization") != "Bearer secret":
		w.WriteHeader(http.StatusUnauthorized)
		w.Write([]byte(`{"error":{"code":"unauthorized","message":"no"}}`))
	case isCall:
		var body json.RawMessage
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		status, text := answer(req, fn, body)
		w.WriteHeader(status)
		w.Write([]byte(text))
	case req.URL.Path == "/v1/services/tools":
		json.NewEncoder(w).Encode(protocol.Service{Name: "tools", State: protocol.ServiceReady, Interface: &face})
	default:
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"error":{"code":"not_found","message":"no such service"}}`))
	}
}

// answers makes every call answer this from now on.
func (r *runtime) answers(status int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func(*http.Request, string, []byte) (int, string) { return status, text }
}

func (r *runtime) connection() protocol.Connection {
	return protocol.Connection{Version: 1, Sandbox: "sb-test", Service: "tools", Endpoint: r.endpoint, Token: "secret"}
}

// connect serves the source to an official client.
func connect(t *testing.T, source mcp.Source) *sdkmcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	here, there := sdkmcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- mcp.Serve(ctx, source, there, mcp.Options{Version: "1.2.3"}) }()
	session, err := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "0"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		cancel()
		<-served
	})
	return session
}

func call(t *testing.T, s *sdkmcp.ClientSession, name string, args any) *sdkmcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	return r
}

func text(r *sdkmcp.CallToolResult) string {
	if len(r.Content) != 1 {
		return ""
	}
	return r.Content[0].(*sdkmcp.TextContent).Text
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func function(name, output string, params ...sdk.Param) sdk.Function {
	f := sdk.Function{Name: name, Doc: "Does " + name + ".", Params: params, InputSchema: json.RawMessage(`{"type":"object"}`)}
	if output != "" {
		f.OutputSchema = json.RawMessage(output)
	}
	return f
}

func TestToolsAreTheFunctions(t *testing.T) {
	add := function("add", `{"type":"integer"}`)
	add.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)
	s := connect(t, mcp.Fixed(newRuntime(t, add, function("info", `{"type":"object"}`), function("any", "")).connection()))
	if got := s.InitializeResult(); got.ServerInfo.Name != "tools" || got.ServerInfo.Version != "1.2.3" || got.Instructions != "Tools of a test." {
		t.Errorf("server says %+v, %q", got.ServerInfo, got.Instructions)
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*sdkmcp.Tool{}
	for _, tool := range list.Tools {
		byName[tool.Name] = tool
	}
	if len(byName) != 3 || byName["add"].Description != "Does add." {
		t.Fatalf("tools: %s", asJSON(t, list.Tools))
	}
	if got := asJSON(t, byName["add"].InputSchema); got != `{"properties":{"a":{"type":"integer"}},"required":["a"],"type":"object"}` {
		t.Errorf("input schema %s", got)
	}
	if got := asJSON(t, byName["add"].OutputSchema); got != `{"properties":{"result":{"type":"integer"}},"required":["result"],"type":"object"}` {
		t.Errorf("wrapped output schema %s", got)
	}
	if got := asJSON(t, byName["info"].OutputSchema); got != `{"type":"object"}` {
		t.Errorf("object output schema %s", got)
	}
	if byName["any"].OutputSchema != nil {
		t.Errorf("a function without annotation promises %v", byName["any"].OutputSchema)
	}
}

func TestStructuredContentIsAlwaysAnObject(t *testing.T) {
	for _, tt := range []struct{ name, schema, value, structured, text string }{
		{"number", ``, `3`, `{"result":3}`, `3`},
		{"string", `{"type":"string"}`, `"a"`, `{"result":"a"}`, `"a"`},
		{"null", ``, `null`, `{"result":null}`, `null`},
		{"list", `{"type":"array"}`, `[1,2]`, `{"result":[1,2]}`, `[1,2]`},
		{"object", `{"type":"object"}`, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{"object without annotation", ``, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{"optional object", `{"anyOf":[{"type":"object"},{"type":"null"}]}`, `{"a":1}`, `{"result":{"a":1}}`, `{"a":1}`},
		{"definitions", `{"$ref":"#/$defs/N","$defs":{"N":{"type":"integer"}}}`, `5`, `{"result":5}`, `5`},
		{"large integer", ``, `123456789012345678901`, `{"result":123456789012345678901}`, `123456789012345678901`},
		{"not a number", `{"type":"number"}`, `{"$seer":{"float":"nan"}}`, `{"result":"NaN"}`, `"NaN"`},
		{"infinity inside", `{"type":"array","items":{"type":"number"}}`, `[{"$seer":{"float":"-inf"}},1.5]`, `{"result":["-Infinity",1.5]}`, `["-Infinity",1.5]`},
		{"the user's own $seer", ``, `{"$seer":{"dict":{"$seer":1}}}`, `{"$seer":1}`, `{"$seer":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRuntime(t, function("f", tt.schema))
			r.answers(200, `{"result":`+tt.value+`}`)
			got := call(t, connect(t, mcp.Fixed(r.connection())), "f", nil)
			if got.IsError {
				t.Fatalf("error: %s", text(got))
			}
			// The client reads numbers as floats; the server's bytes are what counts.
			if tt.name == "large integer" {
				if text(got) != tt.text {
					t.Errorf("text %s", text(got))
				}
				return
			}
			if s := asJSON(t, got.StructuredContent); s != tt.structured {
				t.Errorf("structured %s, want %s", s, tt.structured)
			}
			if text(got) != tt.text {
				t.Errorf("text %s, want %s", text(got), tt.text)
			}
		})
	}
}

func TestAValueThatBreaksItsAnnotationIsSaid(t *testing.T) {
	f := function("f", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	f.Returns = "Info"
	r := newRuntime(t, f)
	r.answers(200, `{"result":null}`)
	got := call(t, connect(t, mcp.Fixed(r.connection())), "f", nil)
	if !got.IsError || got.StructuredContent != nil || !strings.Contains(text(got), "not the Info its annotation promises") {
		t.Errorf("got %s", asJSON(t, got))
	}
}

func TestFailuresAreToolErrors(t *testing.T) {
	r := newRuntime(t, function("f", `{"type":"integer"}`))
	s := connect(t, mcp.Fixed(r.connection()))
	r.answers(422, `{"error":{"code":"raised","type":"ValueError","message":"no layer 9","traceback":"Traceback:\n  line 3"}}`)
	got := call(t, s, "f", nil)
	if want := "ValueError: no layer 9\n\nTraceback:\n  line 3"; !got.IsError || text(got) != want || got.StructuredContent != nil {
		t.Errorf("got %s", asJSON(t, got))
	}
	if meta, ok := got.Meta[mcp.MetaError].(map[string]any); !ok || meta["code"] != "raised" || meta["type"] != "ValueError" {
		t.Errorf("meta %v", got.Meta)
	}
	r.answers(404, `{"error":{"code":"not_found","message":"no such service"}}`)
	if got := call(t, s, "f", nil); !got.IsError || !strings.Contains(text(got), "not served any more") {
		t.Errorf("got %s", asJSON(t, got))
	}
	r.answers(401, `{"error":{"code":"unauthorized","message":"no"}}`)
	if got := call(t, s, "f", nil); !got.IsError || !strings.Contains(text(got), "token") {
		t.Errorf("got %s", asJSON(t, got))
	}
}

func TestALargeResultIsCutInTheTextOnly(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	s := connect(t, mcp.Fixed(r.connection()))
	long := strings.Repeat("é", mcp.MaxText)
	r.answers(200, `{"result":"`+long+`"}`)
	got := call(t, s, "f", nil)
	if whole := got.StructuredContent.(map[string]any)["result"]; whole != long {
		t.Errorf("structured content was cut")
	}
	if n := len(text(got)); n > mcp.MaxText+200 || !strings.Contains(text(got), "cut by Seer") || !strings.Contains(text(got), "é\n[") {
		t.Errorf("text of %d bytes ends with %q", n, text(got)[n-100:])
	}
	r.answers(200, `{"result":"`+strings.Repeat("x", mcp.MaxResult)+`"}`)
	if got := call(t, s, "f", nil); !got.IsError || !strings.Contains(text(got), "Let it return less") {
		t.Errorf("a huge result gave %.200s", text(got))
	}
}

func TestArgumentsKeepTheirPlaces(t *testing.T) {
	one := json.RawMessage("1")
	f := function("f", "",
		sdk.Param{Name: "a", Kind: sdk.PositionalOnly},
		sdk.Param{Name: "b", Kind: sdk.PositionalOnly, HasDefault: true, Default: one},
		sdk.Param{Name: "c", Kind: sdk.PositionalOrKeyword, HasDefault: true, Default: one},
		sdk.Param{Name: "rest", Kind: sdk.VarPositional},
		sdk.Param{Name: "k", Kind: sdk.KeywordOnly},
		sdk.Param{Name: "more", Kind: sdk.VarKeyword})
	s := connect(t, mcp.Fixed(newRuntime(t, f).connection()))
	for _, tt := range []struct{ given, want string }{
		{`{"a":5,"k":6}`, `{"args":[5],"kwargs":{"k":6}}`},
		{`{"a":5,"c":7}`, `{"args":[5],"kwargs":{"c":7}}`},
		{`{"a":5,"rest":[8,9]}`, `{"args":[5,1,1,8,9],"kwargs":{}}`},
		{`{"a":5,"rest":[]}`, `{"args":[5],"kwargs":{}}`},
		{`{"a":5,"more":{"x":1},"y":2}`, `{"args":[5],"kwargs":{"x":1,"y":2}}`},
		{`{}`, `{"args":[],"kwargs":{}}`},
	} {
		if got := call(t, s, "f", json.RawMessage(tt.given)); text(got) != tt.want {
			t.Errorf("%s became %s, want %s", tt.given, text(got), tt.want)
		}
	}
	if got := call(t, s, "f", json.RawMessage(`{"b":1}`)); !got.IsError || !strings.Contains(text(got), "f needs a") {
		t.Errorf("a gap gave %s", text(got))
	}
}

func TestCancellationReachesTheCall(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	started, cancelled := make(chan struct{}), make(chan struct{})
	r.answer = func(req *http.Request, _ string, _ []byte) (int, string) {
		close(started)
		<-req.Context().Done()
		close(cancelled)
		return 200, "{}"
	}
	s := connect(t, mcp.Fixed(r.connection()))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := s.CallTool(ctx, &sdkmcp.CallToolParams{Name: "f"}); err == nil {
		t.Error("a cancelled call succeeded")
	}
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Error("the call went on in the sandbox")
	}
}

func TestAServiceServedAnewShowsItsNewFunctions(t *testing.T) {
	r := newRuntime(t, function("old", ""))
	s := connect(t, mcp.Fixed(r.connection()))
	r.mu.Lock()
	r.face = sdk.Interface{Module: "tools", CodeHash: "2", Functions: []sdk.Function{function("new", "")}}
	r.mu.Unlock()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 1 || list.Tools[0].Name != "new" {
		t.Errorf("tools: %s", asJSON(t, list.Tools))
	}
}

func TestASandboxThatCameBackElsewhereIsFound(t *testing.T) {
	first, second := newRuntime(t, function("f", "")), newRuntime(t, function("f", ""))
	file := t.TempDir() + "/connection.json"
	if err := first.connection().Write(file); err != nil {
		t.Fatal(err)
	}
	s := connect(t, mcp.FromFile(file))
	first.Close()
	if got := call(t, s, "f", nil); !got.IsError || !strings.Contains(text(got), "cannot be reached") {
		t.Errorf("a dead sandbox gave %s", text(got))
	}
	if err := second.connection().Write(file); err != nil {
		t.Fatal(err)
	}
	if got := call(t, s, "f", nil); got.IsError {
		t.Errorf("the new sandbox gave %s", text(got))
	}
}

func TestServeRefusesAConnectionThatDoesNotAnswer(t *testing.T) {
	r := newRuntime(t)
	c := r.connection()
	c.Token = "wrong"
	_, there := sdkmcp.NewInMemoryTransports()
	if err := mcp.Serve(t.Context(), mcp.Fixed(c), there, mcp.Options{}); protocol.CodeOf(err) != protocol.Unauthorized {
		t.Errorf("got %v", err)
	}
}
