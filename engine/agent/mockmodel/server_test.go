package mockmodel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent/mockmodel"
)

const script = `
turns:
  - {think: First the handle., say: I embed., call: embed, with: {n: 3}, take: {handle: '\b(h-\w+)'}}
  - {call: OnlyOfOthers, optional: true}
  - {call: total, with: {xs: {handle: "${handle}"}}}
  - {call: train, until: trained, usage: {input: 50, output: 5, cache_read: 100}}
  - {say: "It is 6, of ${handle} and $${it}."}
  - {call: embed, with: {n: 4}}
`

type object = map[string]any

// agent is the part of an agent that speaks one of the interfaces.
type agent struct {
	path string
	// name is how it names the tool of a server.
	name func(tool string) string
	// body is the request with a conversation so far.
	body func(tools []string, past []exchanged) object
	// read finds the text, the call and its arguments in an answer that is no stream.
	read func(answer object) (say, tool string, arguments object)
}

// exchanged is a call and its answer, or a text of the model.
type exchanged struct {
	say, tool, result string
	arguments         object
}

func at(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(object)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return nil
			}
			v = l[s]
		}
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

func decoded(text string) (o object) {
	_ = json.Unmarshal([]byte(text), &o)
	return o
}

func encoded(v any) string { data, _ := json.Marshal(v); return string(data) }

var agents = map[string]agent{
	"anthropic": {"/v1/messages", func(tool string) string { return "mcp__tools__" + tool },
		func(tools []string, past []exchanged) object {
			body := object{"model": "claude", "max_tokens": 10, "tools": []object{}, "messages": []object{{"role": "user", "content": "go"}}}
			for _, name := range tools {
				body["tools"] = append(body["tools"].([]object), object{"name": name, "input_schema": object{}})
			}
			for _, e := range past {
				m := body["messages"].([]object)
				if e.tool == "" {
					body["messages"] = append(m, object{"role": "assistant", "content": e.say}, object{"role": "user", "content": "more"})
					continue
				}
				body["messages"] = append(m,
					object{"role": "assistant", "content": []object{{"type": "text", "text": "I call"}, {"type": "tool_use", "id": "t", "name": e.tool, "input": e.arguments}}},
					object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": "t", "content": []object{{"type": "text", "text": e.result}}}}})
			}
			return body
		},
		func(a object) (say, tool string, arguments object) {
			for _, part := range a["content"].([]any) {
				switch at(part, "type") {
				case "text":
					say = str(at(part, "text"))
				case "tool_use":
					tool, arguments = str(at(part, "name")), at(part, "input").(object)
				}
			}
			return say, tool, arguments
		}},
	"chat": {"/v1/chat/completions", func(tool string) string { return "tools_" + tool },
		func(tools []string, past []exchanged) object {
			body := object{"model": "gpt", "tools": []object{}, "messages": []object{{"role": "user", "content": "go"}}}
			for _, name := range tools {
				body["tools"] = append(body["tools"].([]object), object{"type": "function", "function": object{"name": name}})
			}
			for _, e := range past {
				m := body["messages"].([]object)
				if e.tool == "" {
					body["messages"] = append(m, object{"role": "assistant", "content": e.say}, object{"role": "user", "content": "more"})
					continue
				}
				call := object{"id": "c", "type": "function", "function": object{"name": e.tool, "arguments": encoded(e.arguments)}}
				body["messages"] = append(m, object{"role": "assistant", "content": "I call", "tool_calls": []object{call}},
					object{"role": "tool", "tool_call_id": "c", "content": e.result})
			}
			return body
		},
		func(a object) (say, tool string, arguments object) {
			m := at(a, "choices", 0, "message")
			return str(at(m, "content")), str(at(m, "tool_calls", 0, "function", "name")), decoded(str(at(m, "tool_calls", 0, "function", "arguments")))
		}},
	"responses": {"/v1/responses", func(tool string) string { return tool },
		func(tools []string, past []exchanged) object {
			own := []object{}
			for _, name := range tools {
				own = append(own, object{"type": "function", "name": name})
			}
			body := object{"model": "codex", "tools": []object{{"type": "namespace", "name": "mcp__tools", "tools": own}, {"type": "web_search"}},
				"input": []object{{"type": "message", "role": "user", "content": "go"}}}
			for _, e := range past {
				m := body["input"].([]object)
				if e.tool == "" {
					body["input"] = append(m, object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": e.say}}})
					continue
				}
				body["input"] = append(m, object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": "I call"}}},
					object{"type": "function_call", "call_id": "c", "name": e.tool, "arguments": encoded(e.arguments)},
					object{"type": "function_call_output", "call_id": "c", "output": e.result})
			}
			return body
		},
		func(a object) (say, tool string, arguments object) {
			for _, item := range a["output"].([]any) {
				switch at(item, "type") {
				case "message":
					say = str(at(item, "content", 0, "text"))
				case "function_call":
					tool, arguments = str(at(item, "name")), decoded(str(at(item, "arguments")))
				}
			}
			return say, tool, arguments
		}},
	"gemini": {"/v1beta/models/gemini-2.5-flash:generateContent", func(tool string) string { return "mcp_tools_" + tool },
		func(tools []string, past []exchanged) object {
			body := object{"contents": []object{{"role": "user", "parts": []object{{"text": "go"}}}}}
			functions := []object{}
			for _, name := range tools {
				functions = append(functions, object{"name": name})
			}
			body["tools"] = []object{{"functionDeclarations": functions}}
			for _, e := range past {
				m := body["contents"].([]object)
				if e.tool == "" {
					body["contents"] = append(m, object{"role": "model", "parts": []object{{"text": e.say}}})
					continue
				}
				body["contents"] = append(m, object{"role": "model", "parts": []object{{"text": "I call"}, {"functionCall": object{"name": e.tool, "args": e.arguments}}}},
					object{"role": "user", "parts": []object{{"functionResponse": object{"name": e.tool, "response": object{"output": e.result}}}}})
			}
			return body
		},
		func(a object) (say, tool string, arguments object) {
			parts, _ := at(a, "candidates", 0, "content", "parts").([]any)
			for _, part := range parts {
				if call, ok := at(part, "functionCall").(object); ok {
					tool, arguments = str(call["name"]), call["args"].(object)
				} else if at(part, "thought") == nil {
					say = str(at(part, "text"))
				}
			}
			return say, tool, arguments
		}},
}

func serve(t *testing.T, text string, log io.Writer) string {
	t.Helper()
	s, err := mockmodel.Parse("script.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(mockmodel.New(s, log))
	t.Cleanup(server.Close)
	return server.URL
}

func post(t *testing.T, url string, body object) (int, []byte, error) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(encoded(body)))
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	return r.StatusCode, data, err
}

// The same script goes the same way through each interface.
func TestPlay(t *testing.T) {
	url := serve(t, script, nil)
	results := map[string]string{
		"embed": "the handle h-12_a of an array", "total": "6", "train": "loss 3, this call goes on: call-result with {\"call\": \"c-1\"}", "call-result": "trained",
	}
	want := []exchanged{
		{say: "I embed.", tool: "embed", arguments: object{"n": 3.0}},
		{tool: "total", arguments: object{"xs": object{"handle": "h-12_a"}}},
		{tool: "train", arguments: object{}},
		{tool: "call-result", arguments: object{"call": "c-1"}},
		{say: "It is 6, of h-12_a and ${it}."},
		{tool: "embed", arguments: object{"n": 4.0}},
		{say: "finished"},
	}
	for name, a := range agents {
		t.Run(name, func(t *testing.T) {
			var tools []string
			for _, tool := range []string{"total", "embed", "train", "call-result"} {
				tools = append(tools, a.name(tool))
			}
			var past []exchanged
			for i, w := range want {
				status, data, err := post(t, url+a.path, a.body(tools, past))
				if err != nil || status != http.StatusOK {
					t.Fatalf("turn %d: %d %s %v", i, status, data, err)
				}
				say, tool, arguments := a.read(decoded(string(data)))
				if w.tool != "" {
					w.tool, w.result = a.name(w.tool), results[w.tool]
				}
				if say != w.say || tool != w.tool || tool != "" && encoded(arguments) != encoded(w.arguments) {
					t.Fatalf("turn %d: %q, %s(%s), want %+v", i, say, tool, encoded(arguments), w)
				}
				past = append(past, w)
			}
		})
	}
}

// A stream has the same as the whole answer, and ends as the interface says.
func TestStream(t *testing.T) {
	url := serve(t, script, nil)
	for name, a := range agents {
		t.Run(name, func(t *testing.T) {
			body, path, end := a.body([]string{a.name("embed")}, nil), a.path, map[string]string{
				"anthropic": "event: message_stop\n", "chat": "data: [DONE]\n", "responses": "event: response.completed\n", "gemini": `"finishReason":"STOP"`,
			}[name]
			body["stream"] = true
			if name == "gemini" {
				path = strings.Replace(path, ":generate", ":streamGenerate", 1)
			}
			_, data, err := post(t, url+path, body)
			text := string(data)
			if err != nil || strings.Count(text, a.name("embed")) == 0 || !strings.Contains(text, "embed.") || !strings.Contains(text, end) {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

// Requests that offer none of the script's tools do not move it.
func TestAside(t *testing.T) {
	url := serve(t, script, nil)
	for name, a := range agents {
		_, data, _ := post(t, url+a.path, a.body([]string{"other"}, nil))
		if say, tool, _ := a.read(decoded(string(data))); say != "finished" || tool != "" {
			t.Errorf("%s: %s", name, data)
		}
		_, data, _ = post(t, url+a.path, a.body([]string{a.name("train")}, nil))
		if say, tool, _ := a.read(decoded(string(data))); !strings.Contains(say, "The script calls embed") || tool != "" {
			t.Errorf("%s: %s", name, data)
		}
	}
}

func TestFaults(t *testing.T) {
	for name, a := range agents {
		url := serve(t, "turns: [{say: hello there, fault: {status: 529, times: 2}}, {say: bye, fault: {cut: true}}]", nil)
		body := a.body(nil, nil)
		for range 2 {
			if status, data, err := post(t, url+a.path, body); status != 529 || err != nil || !strings.Contains(string(data), "the script has this request fail") {
				t.Errorf("%s: %d %s %v", name, status, data, err)
			}
		}
		if status, data, err := post(t, url+a.path, body); status != http.StatusOK || err != nil || !strings.Contains(string(data), "hello") {
			t.Errorf("%s: %d %s %v", name, status, data, err)
		}
		next := a.body(nil, []exchanged{{say: "hello there"}})
		next["stream"] = true
		if _, data, err := post(t, url+a.path, next); err == nil {
			t.Errorf("%s: whole in spite of the cut: %s", name, data)
		}
		if _, data, err := post(t, url+a.path, next); err != nil || !strings.Contains(string(data), "bye") {
			t.Errorf("%s: %s %v", name, data, err)
		}
	}
}

type badWriter struct{}

func (badWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestLog(t *testing.T) {
	var log bytes.Buffer
	url := serve(t, script, &log)
	a := agents["anthropic"]
	past := []exchanged{{tool: "mcp__tools__embed", arguments: object{"n": 3}, result: "h-1"}}
	if _, _, err := post(t, url+a.path, a.body([]string{"mcp__tools__embed", "mcp__tools__total"}, past)); err != nil {
		t.Fatal(err)
	}
	var e mockmodel.Exchange
	if err := json.Unmarshal(log.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	if e.API != "anthropic" || e.Turn != 2 || e.Call != "mcp__tools__total" || encoded(e.With) != `{"xs":{"handle":"h-1"}}` || encoded(e.Past) != `[{"tool":"mcp__tools__embed","text":"h-1"}]` || len(e.Request) == 0 {
		t.Errorf("%s", log.Bytes())
	}
	s, _ := mockmodel.Parse("s", []byte("turns: [{say: a}]"))
	m := mockmodel.New(s, badWriter{})
	m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader("{}")))
	if m.Err() == nil {
		t.Error("a log that cannot be written is not reported")
	}
}

// A call is made again until its answer has what the script waits for, with other arguments.
func TestUntil(t *testing.T) {
	url := serve(t, `turns: [{call: wait, until: over, with: {n: "${repeat}", text: "try ${repeat} of $${repeat}"}}]`, nil)
	a := agents["chat"]
	past := []exchanged{{tool: "wait", result: "not yet"}, {tool: "wait", result: "soon"}}
	_, data, err := post(t, url+a.path, a.body([]string{"wait"}, past))
	if _, tool, with := a.read(decoded(string(data))); err != nil || tool != "wait" || encoded(with) != `{"n":3,"text":"try 3 of ${repeat}"}` {
		t.Errorf("%s %v", data, err)
	}
	_, data, err = post(t, url+a.path, a.body([]string{"wait"}, append(past, exchanged{tool: "wait", result: "over"})))
	if say, _, _ := a.read(decoded(string(data))); err != nil || say != "finished" {
		t.Errorf("%s %v", data, err)
	}
}

func TestOtherRequests(t *testing.T) {
	url := serve(t, script, nil)
	for path, want := range map[string]int{"/v1/messages/count_tokens": 200, "/v1beta/models/m:countTokens": 200, "/v1/embeddings": 404} {
		if status, data, err := post(t, url+path, object{}); status != want || err != nil {
			t.Errorf("%s: %d %s %v", path, status, data, err)
		}
	}
	r, err := http.Get(url + "/v1/models")
	if err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%v %v", r, err)
	}
	r, err = http.Post(url+"/v1/messages", "", strings.NewReader("[]"))
	if err != nil || r.StatusCode != http.StatusBadRequest {
		t.Errorf("%v %v", r, err)
	}
}
