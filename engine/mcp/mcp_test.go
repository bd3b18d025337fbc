package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/mcp/internal/mcptest"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// patience is for what never comes.
const patience = 2 * time.Minute

// handshake is the newest version of MCP that begins with one, which most clients speak.
const handshake = "2025-11-25"

var versions = []string{handshake, ""}

// connect serves the source to an official client.
func connect(t *testing.T, source mcp.Source) *sdkmcp.ClientSession {
	t.Helper()
	return connectAs(t, source, "test", mcp.Options{Version: "1.2.3"}, nil)
}

func connectAs(t *testing.T, source mcp.Source, name string, o mcp.Options, client *sdkmcp.ClientOptions) *sdkmcp.ClientSession {
	t.Helper()
	return connectWith(t, source, name, o, client, "")
}

// connectWith speaks a certain version of MCP; "" = the newest.
func connectWith(t *testing.T, source mcp.Source, name string, o mcp.Options, client *sdkmcp.ClientOptions, version string) *sdkmcp.ClientSession {
	t.Helper()
	return mcptest.Client{Name: name, Options: client, Version: version}.Connect(t, func(ctx context.Context, transport sdkmcp.Transport) error {
		return mcp.Serve(ctx, source, transport, o)
	})
}

func toolNames(t *testing.T, s *sdkmcp.ClientSession) string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
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
	if len(byName) != 6 || byName["add"].Description != "Does add." {
		t.Fatalf("tools: %s", testkit.JSON(t, list.Tools))
	}
	if got := testkit.JSON(t, byName["add"].InputSchema); got != `{"properties":{"a":{"type":"integer"}},"required":["a"],"type":"object"}` {
		t.Errorf("input schema %s", got)
	}
	if got := testkit.JSON(t, byName["add"].OutputSchema); got != answerOf(`{"properties":{"result":{"type":"integer"}},"required":["result"],"type":"object"}`) {
		t.Errorf("wrapped output schema %s", got)
	}
	if got := testkit.JSON(t, byName["info"].OutputSchema); got != answerOf(`{"type":"object"}`) {
		t.Errorf("object output schema %s", got)
	}
	if byName["any"].OutputSchema != nil {
		t.Errorf("a function without annotation promises %v", byName["any"].OutputSchema)
	}
}

// answerOf is the schema of a tool whose result has this one: clients must accept
// handles and calls that go on.
func answerOf(own string) string {
	return `{"anyOf":[` + own + `,{"description":"the result is large and stayed in the sandbox","properties":{"handle":{"properties":{"id":{"type":"string"}},"required":["id"],"type":"object"}},"required":["handle"],"type":"object"},` +
		`{"description":"the call continues; call-result waits for it","properties":{"call":{"type":"string"},"state":{"type":"string"}},"required":["call","state"],"type":"object"}],"type":"object"}`
}

func TestStructuredContentIsAlwaysAnObject(t *testing.T) {
	for _, tt := range []struct{ name, schema, value, structured, text string }{
		{"number", ``, `3`, `{"result":3}`, `3`},
		{"string", `{"type":"string"}`, `"a"`, `{"result":"a"}`, `a`},
		{"null", ``, `null`, `{"result":null}`, `null`},
		{"list", `{"type":"array"}`, `[1,2]`, `{"result":[1,2]}`, `[1,2]`},
		{"object", `{"type":"object"}`, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{"object without annotation", ``, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{"optional object", `{"anyOf":[{"type":"object"},{"type":"null"}]}`, `{"a":1}`, `{"result":{"a":1}}`, `{"a":1}`},
		{"definitions", `{"$ref":"#/$defs/N","$defs":{"N":{"type":"integer"}}}`, `5`, `{"result":5}`, `5`},
		{"large integer", ``, `123456789012345678901`, `{"result":123456789012345678901}`, `123456789012345678901`},
		{"not a number", `{"type":"number"}`, `{"$seer":{"float":"nan"}}`, `{"result":"NaN"}`, `NaN`},
		{"infinity inside", `{"type":"array","items":{"type":"number"}}`, `[{"$seer":{"float":"-inf"}},1.5]`, `{"result":["-Infinity",1.5]}`, `["-Infinity",1.5]`},
		{"the user's own $seer", ``, `{"$seer":{"dict":{"$seer":1}}}`, `{"$seer":1}`, `{"$seer":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRuntime(t, function("f", tt.schema))
			r.returns(tt.value)
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
			if s := testkit.JSON(t, got.StructuredContent); s != tt.structured {
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
	r.returns(`null`)
	got := call(t, connect(t, mcp.Fixed(r.connection())), "f", nil)
	if !got.IsError || got.StructuredContent != nil || !strings.Contains(text(got), "not the Info its annotation promises") {
		t.Errorf("got %s", testkit.JSON(t, got))
	}
}

func TestFailuresAreToolErrors(t *testing.T) {
	r := newRuntime(t, function("f", `{"type":"integer"}`))
	s := connect(t, mcp.Fixed(r.connection()))
	r.answers(func(c *served) {
		c.fails(protocol.CallError{Code: protocol.CallRaised, Type: "ValueError", Message: "no layer 9", Traceback: "Traceback:\n  line 3"})
	})
	got := call(t, s, "f", nil)
	if want := "ValueError: no layer 9\n\nTraceback:\n  line 3"; !got.IsError || text(got) != want || got.StructuredContent != nil {
		t.Errorf("got %s", testkit.JSON(t, got))
	}
	if meta, ok := got.Meta[mcp.MetaError].(map[string]any); !ok || meta["code"] != "raised" || meta["type"] != "ValueError" {
		t.Errorf("meta %v", got.Meta)
	}
	for code, want := range map[protocol.Code]string{protocol.NotFound: "not served any more", protocol.Unauthorized: "token"} {
		fresh := connect(t, r.fixed())
		r.refuses(code)
		if got := call(t, fresh, "f", nil); !got.IsError || !strings.Contains(text(got), want) {
			t.Errorf("%s gave %s", code, testkit.JSON(t, got))
		}
	}
}

func TestALargeResultIsCutInTheTextOnly(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	s := connect(t, mcp.Fixed(r.connection()))
	long := strings.Repeat("é", mcp.MaxText)
	r.returns(`"` + long + `"`)
	got := call(t, s, "f", nil)
	if whole := got.StructuredContent.(map[string]any)["result"]; whole != long {
		t.Errorf("structured content was cut")
	}
	if n := len(text(got)); n > mcp.MaxText+200 || !strings.Contains(text(got), "cut by Seer") || !strings.Contains(text(got), "é\n[") {
		t.Errorf("text of %d bytes ends with %q", n, text(got)[n-100:])
	}
	r.returns(`"` + strings.Repeat("x", mcp.MaxResult) + `"`)
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

// TestAListSentAsText: some clients, such as the inspector, write lists and objects as text.
func TestAListSentAsText(t *testing.T) {
	fn := function("total", "", sdk.Param{Name: "numbers", Kind: sdk.PositionalOrKeyword}, sdk.Param{Name: "label", Kind: sdk.PositionalOrKeyword})
	fn.InputSchema = json.RawMessage(`{"type":"object","properties":{"numbers":{"type":"array","items":{"type":"integer"}},"label":{"type":"string"}}}`)
	s := connect(t, newRuntime(t, fn).fixed())
	got := call(t, s, "total", map[string]any{"numbers": "[1,2,3]", "label": "[4]"})
	if want := `{"args":[],"kwargs":{"label":"[4]","numbers":[1,2,3]}}`; got.IsError || text(got) != want {
		t.Errorf("the function gets %s", text(got))
	}
}

func TestCancellationReachesTheCall(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	checkCancellation(t, r, connect(t, r.fixed()))
}

// checkCancellation cancels a call of f, which reaches the sandbox.
func checkCancellation(t *testing.T, r *runtime, s *sdkmcp.ClientSession) {
	t.Helper()
	started := make(chan *served, 1)
	r.answers(func(c *served) { started <- c })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &sdkmcp.CallToolParams{Name: "f"})
		done <- err
	}()
	c := <-started
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled call succeeded")
	}
	c.waitCancelled(t)
}

func TestAServiceServedAnewShowsItsNewFunctions(t *testing.T) {
	for _, version := range versions {
		r := newRuntime(t, function("old", ""))
		changed := make(chan struct{}, 10)
		s := connectWith(t, r.fixed(), "test", mcp.Options{}, &sdkmcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *sdkmcp.ToolListChangedRequest) { changed <- struct{}{} },
		}, version)
		r.serveAgain("2", function("new", ""))
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatalf("%s: the client was not told", version)
		}
		if got := toolNames(t, s); got != "call-cancel call-result handle-read new" {
			t.Errorf("%s: tools: %s", version, got)
		}
	}
}

func TestSubscribersHearOfACall(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	finish := make(chan struct{})
	r.answers(func(c *served) {
		<-finish
		c.result("1")
	})
	told := make(chan string, 10)
	s := connectWith(t, r.fixed(), "test", mcp.Options{Wait: 100 * time.Millisecond}, &sdkmcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, n *sdkmcp.ResourceUpdatedNotificationRequest) { told <- n.Params.URI },
	}, handshake)
	uri := "seer://calls/" + field(t, call(t, s, "f", nil), "call").(string)
	if err := s.Subscribe(t.Context(), &sdkmcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	close(finish)
	select {
	case got := <-told:
		if got != uri {
			t.Errorf("told of %s", got)
		}
	case <-time.After(patience):
		t.Error("the subscriber was not told of the end")
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

// TestKeysStayInTheFunctionsOrder looks at the bytes: clients that decode them may sort.
func TestKeysStayInTheFunctionsOrder(t *testing.T) {
	const answer = `{"zeta":1,"alpha":[{"y":2,"x":3}],"mid":%s}`
	for name, tt := range map[string]struct{ value, shown, structured string }{
		"plain":   {fmt.Sprintf(answer, "null"), fmt.Sprintf(answer, "null"), fmt.Sprintf(answer, "null")},
		"tagged":  {fmt.Sprintf(answer, `{"$seer":{"float":"nan"}}`), fmt.Sprintf(answer, `"NaN"`), fmt.Sprintf(answer, `"NaN"`)},
		"wrapped": {"[" + fmt.Sprintf(answer, "0") + "]", "[" + fmt.Sprintf(answer, "0") + "]", `{"result":[` + fmt.Sprintf(answer, "0") + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuntime(t, function("f", ""))
			r.returns(tt.value)
			here, there := sdkmcp.NewInMemoryTransports()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			served := make(chan error, 1)
			go func() { served <- mcp.Serve(ctx, mcp.Fixed(r.connection()), there, mcp.Options{}) }()
			var said testkit.Buffer
			session, err := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "t"}, nil).Connect(ctx, &sdkmcp.LoggingTransport{Transport: here, Writer: &said}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := call(t, session, "f", nil)
			session.Close()
			cancel()
			<-served
			if text(got) != tt.shown || !strings.Contains(said.String(), `"structuredContent":`+tt.structured) {
				t.Errorf("got the text %s and %s", text(got), said.String())
			}
		})
	}
}

func TestAnAnswerThatIsNoJSONIsSaid(t *testing.T) {
	for _, value := range []string{`{"a":1} junk`, `1,"x":2`, "\"\xff\""} {
		r := newRuntime(t, function("f", ""))
		r.returns(value)
		if got := call(t, connect(t, mcp.Fixed(r.connection())), "f", nil); !got.IsError {
			t.Errorf("%q gives %s", value, text(got))
		}
	}
}
