package driver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// collected is the output of a run.
type collected struct {
	updates []driver.Update
	outcome driver.Outcome
	input   string
	ended   int
}

// kinds are the kinds of the updates; unknown ones with the program's type.
func (c collected) kinds() string {
	var out []string
	for _, u := range c.updates {
		kind := u.Update["sessionUpdate"].(string)
		if typ, ok := u.Update["type"].(string); ok && kind == "unknown" {
			kind += " " + typ
		}
		out = append(out, kind)
	}
	return strings.Join(out, ", ")
}

// speak runs a driver with an output that does not depend on the input.
func speak(t testing.TB, kind string, stdout io.Reader) collected {
	t.Helper()
	in := &sink{}
	var out collected
	task := driver.Task{Prompt: "go\n", Dir: "/work", Ended: func() { out.ended++ }}
	outcome, err := driver.Run(context.Background(), kind, in, stdout, task, func(u driver.Update) { out.updates = append(out.updates, u) })
	if err != nil {
		t.Fatal(err)
	}
	out.outcome, out.input = outcome, in.text.String()
	return out
}

// sink is a standard input. The driver writes to it in one goroutine, which has ended with Run.
type sink struct {
	text   bytes.Buffer
	closed bool
}

func (s *sink) Write(p []byte) (int, error) { return s.text.Write(p) }
func (s *sink) Close() error                { s.closed = true; return nil }

func fixture(t *testing.T, name string) io.Reader {
	data, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(data)
}

// TestRecordedOutputs reads recorded output of the real programs: Claude Code 2.1.330, Codex
// 0.169.0, Gemini CLI 0.61.0 and opencode 1.18.33.
func TestRecordedOutputs(t *testing.T) {
	const whole = "I add.|calc add completed 5|calc fail failed it failed|The sum is 5."
	for _, c := range []struct{ kind, file, story, reason, why string }{
		{driver.Claude, "claude-tool", whole, driver.EndTurn, ""},
		{driver.Codex, "codex-tool", whole, driver.EndTurn, ""},
		{driver.ACP, "gemini-tool", whole, driver.EndTurn, ""},
		{driver.ACP, "gemini-permission", whole, driver.EndTurn, ""},
		{driver.ACP, "opencode-tool", whole, driver.EndTurn, ""},
		{driver.Claude, "claude-interrupted", "", driver.Cancelled, ""},
		{driver.Claude, "claude-killed", "", driver.Failed, "before its turn"},
		{driver.Codex, "codex-interrupted", "", driver.Failed, "before its turn"},
		{driver.ACP, "gemini-interrupted", "", driver.Cancelled, ""},
		{driver.ACP, "opencode-interrupted", "", driver.Cancelled, ""},
		{driver.Claude, "claude-500", "*", driver.Failed, "500"},
		{driver.Codex, "codex-401", "", driver.Failed, "401 Unauthorized"},
		{driver.ACP, "gemini-401", "", driver.Failed, "(code 401)"},
		{driver.ACP, "opencode-cut", "*", driver.Failed, "connection was closed"},
	} {
		t.Run(c.file, func(t *testing.T) {
			got := speak(t, c.kind, fixture(t, c.file))
			if text := story(got.updates); text != c.story && c.story != "*" {
				t.Errorf("the agent did\n%s\nand not\n%s", text, c.story)
			}
			if got.outcome.Reason != c.reason || !strings.Contains(got.outcome.Error, c.why) || (c.why == "") != (got.outcome.Error == "") {
				t.Errorf("outcome %+v", got.outcome)
			}
			if stated := got.outcome.Error != "the program ended its output before its turn" && got.kinds() != ""; stated && c.file != "claude-interrupted" && got.ended != 1 {
				t.Errorf("the end was told %d times", got.ended)
			}
			checkNative(t, c.file, got)
		})
	}
}

// checkNative: each line of the program is the native line of an update, once, or only an answer
// of ACP; and all updates are JSON.
func checkNative(t *testing.T, file string, got collected) {
	data, _ := io.ReadAll(fixture(t, file))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var native []string
	for _, u := range got.updates {
		if _, err := json.Marshal(u); err != nil {
			t.Error(err)
		}
		if u.Native != "" {
			native = append(native, u.Native)
		}
	}
	if !reflect.DeepEqual(native, lines) {
		t.Errorf("%d native lines of %d", len(native), len(lines))
	}
}

func TestThoughtsUsageAndCost(t *testing.T) {
	for _, c := range []struct{ kind, file, thought, usage string }{
		{driver.Claude, "claude-tool", "I think first.", `{"cachedReadTokens":7,"cachedWriteTokens":0,"inputTokens":301,"outputTokens":51}`},
		{driver.Codex, "codex-tool", "", `{"cachedReadTokens":7,"cachedWriteTokens":0,"inputTokens":301,"outputTokens":51}`},
		{driver.ACP, "gemini-tool", "****\nI think first.", `{"inputTokens":308,"outputTokens":51}`},
		{driver.ACP, "opencode-tool", "", `{"inputTokens":200,"outputTokens":30,"totalTokens":230}`},
	} {
		got := speak(t, c.kind, fixture(t, c.file))
		thought, usage := "", ""
		for _, u := range got.updates {
			switch u.Update["sessionUpdate"] {
			case "agent_thought_chunk":
				thought += textOf(u.Update["content"])
			case "usage_update":
				text, _ := json.Marshal(u.Update["_meta"].(map[string]any)["usage"])
				usage = string(text)
				if cost := u.Update["cost"]; c.kind == driver.Claude && cost == nil {
					t.Errorf("%s: no cost", c.file)
				}
			}
		}
		if thought != c.thought || usage != c.usage {
			t.Errorf("%s: thought %q, usage %s", c.file, thought, usage)
		}
	}
}

func TestPromptGoesToStandardInput(t *testing.T) {
	for _, kind := range []string{driver.Claude, driver.Codex, driver.Lines} {
		r, w := io.Pipe()
		in, agent := io.Pipe()
		go func() {
			prompt, _ := io.ReadAll(in) // until the driver closes it
			fmt.Fprintf(w, "got %s", prompt)
			w.Close()
		}()
		var native []string
		_, err := driver.Run(t.Context(), kind, agent, r, driver.Task{Prompt: "the prompt"}, func(u driver.Update) { native = append(native, u.Native) })
		if err != nil || len(native) != 1 || native[0] != "got the prompt" {
			t.Errorf("%s: %q, %v", kind, native, err)
		}
	}
}

func TestUnknownKind(t *testing.T) {
	in := &sink{}
	_, err := driver.Run(t.Context(), "pipe", in, strings.NewReader(""), driver.Task{}, func(driver.Update) {})
	if sdk.CodeOf(err) != sdk.Invalid || !in.closed {
		t.Errorf("%v, input closed: %v", err, in.closed)
	}
}

func TestStrangeLines(t *testing.T) {
	for _, kind := range []string{driver.Claude, driver.Codex, driver.ACP} {
		for _, text := range []string{
			"no json\n", "\x00\xff\xfe\x80\n", "[1, 2]\n", "null\n", "{}\n", "{\"type\": 5}\n", "{\"type\":\"new_kind\",\"x\":1}\n", "{\"method\":\"new/kind\"}\n",
			"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"te", strings.Repeat("[", 100_000) + "\n", "{\"type\":\"result\"} {}\n",
			"{\"type\":\"assistant\",\"message\":7}\n", "{\"type\":\"item.completed\",\"item\":[]}\n", "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n",
		} {
			got := speak(t, kind, strings.NewReader(text))
			if len(got.updates) != 1 || got.updates[0].Update["sessionUpdate"] != "unknown" || got.outcome.Reason != driver.Failed {
				t.Errorf("%s: %.30q: %s, %+v", kind, text, got.kinds(), got.outcome)
			}
		}
	}
}

func TestLinesOfText(t *testing.T) {
	got := speak(t, driver.Lines, strings.NewReader("one\r\n\ntwo \xff\nthree"))
	if text := story(got.updates); text != "one\n\ntwo \uFFFD\nthree\n" || got.outcome.Reason != driver.EndTurn {
		t.Errorf("%q, %+v", text, got.outcome)
	}
}

func TestLongLineIsKept(t *testing.T) {
	text := strings.Repeat("x", 20<<20)
	line, _ := json.Marshal(map[string]any{"type": "item.completed", "item": map[string]any{"type": "agent_message", "text": text}})
	got := speak(t, driver.Codex, bytes.NewReader(line))
	if len(got.updates) != 1 || textOf(got.updates[0].Update["content"]) != text {
		t.Errorf("%d updates: %s", len(got.updates), got.kinds())
	}
}

// forever repeats a text.
type forever struct{ text []byte }

func (f forever) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], f.text)
	}
	return n, nil
}

func TestMuchOutputInBoundedMemory(t *testing.T) {
	size := int64(1 << 30)
	if testkit.Race {
		size /= 4
	}
	for _, c := range []struct {
		kind, text string
		limit      uint64
	}{
		{driver.Claude, strings.Repeat("x", 4096), 450 << 20}, // one line
		{driver.Lines, strings.Repeat("x", 65535) + "\n", 64 << 20},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var bytes, cut int
		outcome, err := driver.Run(t.Context(), c.kind, &sink{}, io.LimitReader(forever{[]byte(c.text)}, size), driver.Task{}, func(u driver.Update) {
			bytes += len(u.Native)
			if u.Update["truncated"] == true {
				cut++
				if u.Update["bytes"] != size || len(u.Native) != 64<<20 {
					t.Errorf("a line of %v bytes, %d kept", u.Update["bytes"], len(u.Native))
				}
			}
		})
		runtime.ReadMemStats(&after)
		if grown := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && grown > c.limit {
			t.Errorf("%s: memory grew by %d MiB", c.kind, grown>>20)
		}
		if err != nil || (c.kind == driver.Claude) != (cut == 1) || bytes == 0 {
			t.Errorf("%s: %+v, %v, %d cut, %d bytes", c.kind, outcome, err, cut, bytes)
		}
	}
}

func TestProgramThatNeverReads(t *testing.T) {
	in, out := io.Pipe() // without a reader
	defer in.Close()
	for _, kind := range []string{driver.Claude, driver.Codex, driver.Lines, driver.ACP} {
		outcome, err := driver.Run(t.Context(), kind, out, strings.NewReader("hello\n"), driver.Task{Prompt: strings.Repeat("p", 1<<20)}, func(driver.Update) {})
		if err != nil || outcome.Reason == "" {
			t.Errorf("%s: %+v, %v", kind, outcome, err)
		}
	}
}

// TestEndOfContext: the driver closes the input, and reads on until the caller has ended the
// program.
func TestEndOfContext(t *testing.T) {
	for _, kind := range []string{driver.Claude, driver.Codex, driver.Lines, driver.ACP} {
		ctx, cancel := context.WithCancel(t.Context())
		agent, stdin := io.Pipe()
		stdout, w := io.Pipe()
		go func() {
			cancel()
			io.Copy(io.Discard, agent) //nolint:errcheck // until it is closed
			io.WriteString(w, "last words\n")
			w.Close()
		}()
		said := false
		outcome, err := driver.Run(ctx, kind, stdin, stdout, driver.Task{Prompt: "p"}, func(u driver.Update) { said = said || u.Native == "last words" })
		if err != nil || outcome.Reason != driver.Cancelled || !said {
			t.Errorf("%s: %+v, %v, last words read: %v", kind, outcome, err, said)
		}
	}
}

func TestClaudeOutcomes(t *testing.T) {
	for line, want := range map[string]driver.Outcome{
		`{"type":"result","subtype":"success","is_error":false}`:                                         {Reason: driver.EndTurn},
		`{"type":"result","subtype":"success","stop_reason":"max_tokens"}`:                               {Reason: driver.MaxTokens},
		`{"type":"result","subtype":"success","stop_reason":"refusal"}`:                                  {Reason: driver.Refusal},
		`{"type":"result","subtype":"error_max_turns","is_error":true}`:                                  {Reason: driver.MaxTurnRequests, Error: "the limit of turns is reached"},
		`{"type":"result","subtype":"success","is_error":true,"result":"API Error: 500"}`:                {Reason: driver.Failed, Error: "API Error: 500"},
		`{"type":"result","subtype":"error_during_execution","errors":["a",5,"b"]}`:                      {Reason: driver.Failed, Error: "a; b"},
		`{"type":"result","subtype":"error_max_budget_usd"}`:                                             {Reason: driver.Failed, Error: "error_max_budget_usd"},
		`{"type":"result","subtype":"error_max_turns"}` + "\n" + `{"type":"result","subtype":"success"}`: {Reason: driver.EndTurn},
	} {
		if got := speak(t, driver.Claude, strings.NewReader(line+"\n")); got.outcome != want || got.ended != 1 {
			t.Errorf("%s: %+v, told %d times", line, got.outcome, got.ended)
		}
	}
}

func TestClaudeBlocks(t *testing.T) {
	got := speak(t, driver.Claude, strings.NewReader(`
{"type":"assistant","parent_tool_use_id":"t0","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"TodoWrite","input":{"todos":[{"content":"look","status":"in_progress"}]}},{"type":"new"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"new"}]}]}}
`))
	if got.kinds() != "tool_call, plan, unknown assistant/new, tool_call_update" {
		t.Fatal(got.kinds())
	}
	text, _ := json.Marshal(got.updates[3].Update["content"])
	if want := `[{"content":{"text":"a","type":"text"},"type":"content"},{"content":{"data":"AAAA","mimeType":"image/png","type":"image"},"type":"content"},{"content":{"text":"{\"type\":\"new\"}","type":"text"},"type":"content"}]`; string(text) != want {
		t.Errorf("%s", text)
	}
	if meta, _ := json.Marshal(got.updates[0].Update["_meta"]); string(meta) != `{"parentToolCallId":"t0"}` {
		t.Errorf("%s", meta)
	}
}

func TestCodexItems(t *testing.T) {
	got := speak(t, driver.Codex, strings.NewReader(`
{"type":"item.completed","item":{"id":"r","type":"reasoning","text":"hm"}}
{"type":"item.started","item":{"id":"c","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":12345678901234567890,"status":"failed"}}
{"type":"item.completed","item":{"id":"f","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"w","type":"web_search","query":"q"}}
{"type":"item.updated","item":{"id":"t","type":"todo_list","items":[{"text":"look","completed":true}]}}
{"type":"turn.failed","error":{}}
`))
	want := "agent_thought_chunk, tool_call, tool_call_update, tool_call, tool_call, plan, unknown turn.failed"
	if got.kinds() != want || got.outcome.Reason != driver.Failed || got.outcome.Error == "" {
		t.Errorf("%s, %+v", got.kinds(), got.outcome)
	}
	if text, _ := json.Marshal(got.updates[2].Update); !strings.Contains(string(text), `"rawOutput":{"exit_code":12345678901234567890}`) {
		t.Errorf("%s", text)
	}
}

func TestRepeatedAndHugeIDs(t *testing.T) {
	huge := strings.Repeat("i", 1<<20)
	call := `{"type":"item.started","item":{"id":"` + huge + `","type":"mcp_tool_call","server":"s","tool":"t","status":"in_progress"}}` + "\n"
	got := speak(t, driver.Codex, strings.NewReader(call+call))
	if got.kinds() != "tool_call, tool_call_update" {
		t.Error(got.kinds())
	}
	got = speak(t, driver.ACP, strings.NewReader(`{"id":"`+huge+`","method":"fs/read_text_file","params":{}}`+"\n"))
	if strings.Count(got.input, "\n") != 1 { // only initialize
		t.Errorf("%d messages were sent", strings.Count(got.input, "\n"))
	}
}

func FuzzRun(f *testing.F) {
	for i, name := range []string{"claude-tool", "codex-tool", "gemini-tool", "opencode-tool"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
		scanner := bufio.NewScanner(bytes.NewReader(data))
		for scanner.Scan() {
			f.Add(uint8(i), bytes.Clone(scanner.Bytes()))
		}
	}
	kinds := []string{driver.Claude, driver.Codex, driver.ACP, driver.Lines}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		got := speak(t, kinds[int(kind)%len(kinds)], bytes.NewReader(data))
		if got.outcome.Reason == "" {
			t.Error("no outcome")
		}
		for _, u := range got.updates {
			if text, err := json.Marshal(u.Update); err != nil || u.Update["sessionUpdate"] == "" {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
