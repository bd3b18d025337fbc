package mcp_test

import (
	"bytes"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

const handleOfArray = `{"$seer":{"handle":{"id":"h-1","kind":"array","type":"numpy.ndarray","shape":[1000,1000],"dtype":"float32","bytes":4000000,` +
	`"preview":"[[0. 1.]]","stats":{"min":{"$seer":{"float":"-inf"}},"max":1.5,"nan":0}}}}`

func TestALargeResultIsAHandle(t *testing.T) {
	r := newRuntime(t, function("embed", `{"type":"array"}`))
	r.answers(func(c *served) {
		switch {
		case c.head.Fn == "$handle.get" && strings.Contains(c.args, "h-9"):
			c.fails(protocol.CallError{Code: protocol.CallHandleGone, Message: "the handle h-9 has expired"})
		case c.head.Fn == "$handle.get":
			c.result("[1,2]")
		default:
			c.result(handleOfArray)
		}
	})
	s := connect(t, r.fixed())
	got := call(t, s, "embed", nil)
	if got.IsError || len(got.Content) != 2 {
		t.Fatalf("got %s", testkit.JSON(t, got))
	}
	said := got.Content[0].(*sdkmcp.TextContent).Text
	for _, want := range []string{"float32 array [1000, 1000]", "3.8 MiB", "min -Infinity max 1.5", "[[0. 1.]]", `{"handle": "h-1"}`, "handle-read"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	if link := got.Content[1].(*sdkmcp.ResourceLink); link.URI != "seer://handles/h-1" || *link.Size != 4000000 {
		t.Errorf("link %s", testkit.JSON(t, link))
	}
	if h, _ := field(t, got, "handle").(map[string]any); h["id"] != "h-1" || h["dtype"] != "float32" {
		t.Errorf("structured %s", testkit.JSON(t, got.StructuredContent))
	}
	list, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if uris := testkit.JSON(t, list.Resources); !strings.Contains(uris, `"seer://handles/h-1"`) || !strings.Contains(uris, `"seer://docs"`) || strings.Contains(uris, "seer://logs") {
		t.Errorf("resources %s", uris)
	}
	for uri, want := range map[string]string{"seer://handles/h-1": `"dtype":"float32"`, "seer://handles/h-1/0:2": "[1,2]", "seer://docs": "def embed()"} {
		read, err := s.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(read.Contents[0].Text, want) {
			t.Errorf("%s gave %s, %v", uri, testkit.JSON(t, read), err)
		}
	}
	complete, err := s.Complete(t.Context(), &sdkmcp.CompleteParams{
		Ref: &sdkmcp.CompleteReference{Type: "ref/resource", URI: "seer://handles/{id}"}, Argument: sdkmcp.CompleteParamsArgument{Name: "id", Value: "h-"},
	})
	if err != nil || testkit.JSON(t, complete.Completion.Values) != `["h-1"]` {
		t.Errorf("completion %s, %v", testkit.JSON(t, complete), err)
	}
	if _, err := s.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: "seer://handles/h-9/0"}); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a handle that is gone gave %v", err)
	}
}

func TestHandlesAreLookedInto(t *testing.T) {
	r := newRuntime(t)
	r.answers(func(c *served) {
		if c.head.Fn == "$handle.info" {
			c.result(handleOfArray)
			return
		}
		c.result(`"` + strings.ReplaceAll(c.head.Fn+" "+c.args, `"`, `'`) + `"`)
	})
	s := connect(t, r.fixed())
	for _, tt := range []struct{ given, want string }{
		{`{"handle":"h-1","index":"0:10, ..., [1, 5]"}`, `$handle.get {'args':['h-1',['index',{'at':[{'slice':[0,10,null]},'...',[1,5]]}]],'kwargs':{}}`},
		{`{"handle":{"handle":"h-1"},"index":"price"}`, `$handle.get {'args':['h-1',['index','price']],'kwargs':{}}`},
		{`{"handle":{"id":"h-1","dtype":"x"},"reduce":"mean","axis":0}`, `$handle.get {'args':['h-1',['reduce','mean',{'axis':0}]],'kwargs':{}}`},
		{`{"handle":"h-1","index":"-1","topk":5,"keep":true}`, `$handle.make {'args':['h-1',['index',-1],['topk',5]],'kwargs':{}}`},
	} {
		if got := call(t, s, "handle-read", rawJSON(tt.given)); text(got) != tt.want {
			t.Errorf("%s became %s", tt.given, testkit.JSON(t, got))
		}
	}
	if got := call(t, s, "handle-read", rawJSON(`{"handle":"h-1"}`)); got.IsError || !strings.Contains(testkit.JSON(t, got), "float32") {
		t.Errorf("info %s", testkit.JSON(t, got))
	}
	for _, given := range []string{`{}`, `{"handle":"x"}`, `{"handle":"h-1","index":"[1"}`, `{"handle":"h-1","axis":1}`, `{"handle":"h-1","nope":1}`} {
		got := call(t, s, "handle-read", rawJSON(given))
		if meta, _ := got.Meta[mcp.MetaError].(map[string]any); !got.IsError || meta["code"] != "bad_arguments" {
			t.Errorf("%s gave %s", given, testkit.JSON(t, got))
		}
	}
}

func TestHandlesAreArguments(t *testing.T) {
	f := function("f", "", sdk.Param{Name: "a", Kind: sdk.PositionalOrKeyword}, sdk.Param{Name: "b", Kind: sdk.PositionalOrKeyword})
	r := newRuntime(t, f)
	type sent struct {
		tagged bool
		body   string
	}
	bodies := make(chan sent, 1)
	r.answers(func(c *served) {
		bodies <- sent{c.head.Tagged, c.args}
		c.result("1")
	})
	s := connect(t, r.fixed())
	for _, tt := range []struct {
		given, want string
		tagged      bool
	}{
		{`{"a":{"handle":"h-1"}}`, `{"args":[],"kwargs":{"a":{"$seer":{"handle":{"id":"h-1"}}}}}`, true},
		{`{"a":[{"handle":{"id":"h-2","bytes":5}},12345678901234567890]}`, `{"args":[],"kwargs":{"a":[{"$seer":{"handle":{"id":"h-2"}}},12345678901234567890]}}`, true},
		{`{"a":{"handle":{"id":"h-2"},"next":"Pass it on"}}`, `{"args":[],"kwargs":{"a":{"$seer":{"handle":{"id":"h-2"}}}}}`, true},
		{`{"a":{"handle":"h-2","other":1}}`, `{"args":[],"kwargs":{"a":{"handle":"h-2","other":1}}}`, false},
		{`{"a":{"handle":"door"}}`, `{"args":[],"kwargs":{"a":{"handle":"door"}}}`, false},
		{`{"a":{"$seer":{"float":"nan"}}}`, `{"args":[],"kwargs":{"a":{"$seer":{"float":"nan"}}}}`, false},
		{`{"a":{"$seer":1},"b":{"handle":"h-1"}}`, `{"args":[],"kwargs":{"a":{"$seer":{"dict":{"$seer":1}}},"b":{"$seer":{"handle":{"id":"h-1"}}}}}`, true},
	} {
		call(t, s, "f", rawJSON(tt.given))
		if got := <-bodies; got.body != tt.want || got.tagged != tt.tagged {
			t.Errorf("%s became %s, tagged %v", tt.given, got.body, got.tagged)
		}
	}
}

func TestParametersThatMayBeLargeAdmitHandles(t *testing.T) {
	f := function("f", "")
	f.InputSchema = rawJSON(`{"type":"object","properties":{
		"n":{"type":"integer"},"s":{"anyOf":[{"type":"string"},{"type":"null"}]},"any":{},"dict":{"type":"object"},
		"xs":{"type":"array","items":{"type":"number"},"description":"d"},"raw":{"type":"string","contentEncoding":"base64"},
		"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}}}`)
	tools, err := mcp.Tools(sdk.Interface{Functions: []sdk.Function{f}})
	if err != nil {
		t.Fatal(err)
	}
	props := tools[0].InputSchema.(map[string]any)["properties"].(map[string]any)
	for name, admits := range map[string]bool{"n": false, "s": false, "any": false, "dict": false, "xs": true, "raw": true, "p": true} {
		if got := strings.Contains(testkit.JSON(t, props[name]), "stayed in the sandbox"); got != admits {
			t.Errorf("%s: %s", name, testkit.JSON(t, props[name]))
		}
	}
	if d := props["xs"].(map[string]any)["description"]; d != "d" {
		t.Errorf("the description is %v", d)
	}
}

func TestImagesAreImages(t *testing.T) {
	r := newRuntime(t, function("plot", ""))
	png := []byte("\x89PNG\r\n\x1a\nnot really")
	picture, err := value.Encode(map[string]any{"n": 1, "plot": value.Image{Format: "png", Mode: "RGB", Width: 3, Height: 2, Data: png}})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := value.Encode(value.Image{Format: "png", Mode: "RGB", Width: 3, Height: 2, Data: png})
	if err != nil {
		t.Fatal(err)
	}
	r.answers(func(c *served) { c.body(picture) })
	s := connect(t, r.fixed())
	got := call(t, s, "plot", nil)
	if len(got.Content) != 2 || testkit.JSON(t, got.StructuredContent) != `{"n":1,"plot":"[image 1: png, 3 x 2]"}` {
		t.Fatalf("got %s", testkit.JSON(t, got))
	}
	if image := got.Content[1].(*sdkmcp.ImageContent); image.MIMEType != "image/png" || !bytes.Equal(image.Data, png) {
		t.Errorf("image %s", testkit.JSON(t, image))
	}
	// A client that shows nothing but structured content has none.
	if got := call(t, connectAs(t, r.fixed(), "codex-mcp-client", mcp.Options{}, nil), "plot", nil); len(got.Content) != 2 || got.StructuredContent != nil {
		t.Errorf("got %s", testkit.JSON(t, got))
	}
	// One that stayed in the sandbox is shown all the same.
	r.answers(func(c *served) {
		if c.head.Fn == "$handle.get" {
			c.body(alone)
			return
		}
		c.result(`{"$seer":{"handle":{"id":"h-1","kind":"image","type":"PIL.Image","bytes":40000}}}`)
	})
	got = call(t, s, "plot", nil)
	if len(got.Content) != 3 || !bytes.Equal(got.Content[2].(*sdkmcp.ImageContent).Data, png) {
		t.Errorf("got %s", testkit.JSON(t, got))
	}
}

func TestArraysArePlain(t *testing.T) {
	r := newRuntime(t, function("f", ""))
	v, err := value.Encode(value.Array{DType: "int16", Shape: []int64{2, 2}, Data: []byte{1, 0, 2, 0, 3, 0, 255, 255}})
	if err != nil {
		t.Fatal(err)
	}
	r.answers(func(c *served) { c.body(v) })
	if got := call(t, connect(t, r.fixed()), "f", nil); text(got) != "[[1,2],[3,-1]]" || testkit.JSON(t, got.StructuredContent) != `{"result":[[1,2],[3,-1]]}` {
		t.Errorf("got %s", testkit.JSON(t, got))
	}
}

func TestLogsAreThereForWhoMaySeeThem(t *testing.T) {
	r := newRuntime(t)
	r.logs = "model loaded\n"
	s := connect(t, r.fixed())
	read, err := s.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: "seer://logs"})
	if err != nil || read.Contents[0].Text != r.logs {
		t.Errorf("logs %s, %v", testkit.JSON(t, read), err)
	}
}
