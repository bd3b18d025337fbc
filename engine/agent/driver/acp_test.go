package driver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/engine/agent/profile"
)

// agent is an agent of ACP in this process.
type agent struct {
	t   *testing.T
	in  *bufio.Reader
	out *io.PipeWriter
	// opened is the answer to session/new.
	opened string
}

// message is what the driver has sent.
type message struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
	Result map[string]any
	Error  map[string]any
}

// converse runs the driver with an agent.
func converse(ctx context.Context, t *testing.T, task driver.Task, play func(*agent)) collected {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	a := &agent{t: t, in: bufio.NewReader(in), out: out, opened: `{"sessionId":"s1"}`}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer in.Close()
		defer out.Close()
		play(a)
	}()
	var got collected
	task.Ended = func() { got.ended++ }
	outcome, err := driver.Run(ctx, driver.ACP, stdin, stdout, task, func(u driver.Update) { got.updates = append(got.updates, u) })
	if err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	<-done
	got.outcome = outcome
	return got
}

// next is the next message of the driver; a message without anything at the end.
func (a *agent) next() message {
	line, err := a.in.ReadBytes('\n')
	if err != nil {
		return message{}
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		a.t.Errorf("the driver sent %q: %v", line, err)
	}
	return m
}

func (a *agent) say(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

func (a *agent) answer(m message, result string) {
	a.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (a *agent) expect(method string) message {
	m := a.next()
	if m.Method != method {
		a.t.Errorf("the driver sent %q, and not %q", m.Method, method)
	}
	return m
}

// prompted plays the beginning, and returns the prompt.
func (a *agent) prompted() message {
	a.answer(a.expect("initialize"), `{"protocolVersion":1}`)
	a.answer(a.expect("session/new"), a.opened)
	return a.expect("session/prompt")
}

// finish ends the turn, and waits until the driver has closed the input.
func (a *agent) finish(prompt message, reason string) {
	a.answer(prompt, `{"stopReason":"`+reason+`"}`)
	if m := a.next(); m.Method != "" || m.ID != nil {
		a.t.Errorf("after the end, the driver sent %+v", m)
	}
}

func TestACPHandshake(t *testing.T) {
	task := driver.Task{Prompt: "do it", Dir: "/work", Servers: []profile.Server{{Name: "calc", Command: "/bin/calc", Env: map[string]string{"B": "2", "A": "1"}}}}
	var sent []string
	got := converse(t.Context(), t, task, func(a *agent) {
		first := a.expect("initialize")
		a.answer(first, `{"protocolVersion":1}`)
		second := a.expect("session/new")
		a.answer(second, a.opened)
		third := a.expect("session/prompt")
		for _, m := range []message{first, second, third} {
			text, _ := json.Marshal(m.Params)
			sent = append(sent, string(text))
		}
		a.finish(third, "max_tokens")
	})
	want := []string{
		`{"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"seer","title":"Seer","version":"1"},"protocolVersion":1}`,
		`{"cwd":"/work","mcpServers":[{"args":[],"command":"/bin/calc","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"name":"calc"}]}`,
		`{"prompt":[{"text":"do it","type":"text"}],"sessionId":"s1"}`,
	}
	for i := range want {
		if i >= len(sent) || sent[i] != want[i] {
			t.Errorf("message %d: %s", i, sent[i])
		}
	}
	if got.outcome != (driver.Outcome{Reason: driver.MaxTokens}) || got.ended != 1 {
		t.Errorf("%+v, told %d times", got.outcome, got.ended)
	}
}

func TestACPPermissions(t *testing.T) {
	option := func(id, kind string) string { return `{"optionId":"` + id + `","name":"n","kind":"` + kind + `"}` }
	for options, want := range map[string]string{
		option("r", "reject_once") + "," + option("o", "allow_once") + "," + option("a", "allow_always"): `{"optionId":"a","outcome":"selected"}`,
		option("o", "allow_once") + "," + option("x", "new_kind"):                                        `{"optionId":"o","outcome":"selected"}`,
		option("r", "reject_always"): `{"outcome":"cancelled"}`,
		``:                           `{"outcome":"cancelled"}`,
		`5,null`:                     `{"outcome":"cancelled"}`,
	} {
		got := converse(t.Context(), t, driver.Task{}, func(a *agent) {
			prompt := a.prompted()
			a.say(`{"jsonrpc":"2.0","id":"q-1","method":"session/request_permission","params":{"sessionId":"s1","options":[%s],"toolCall":{"toolCallId":"c","title":"remove it"}}}`, options)
			m := a.next()
			if text, _ := json.Marshal(m.Result["outcome"]); string(text) != want || string(m.ID) != `"q-1"` {
				t.Errorf("%s: %s, to %s", options, text, m.ID)
			}
			a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}}`)
			a.finish(prompt, "end_turn")
		})
		if got.kinds() != "unknown response, unknown response, tool_call, unknown session/request_permission, tool_call_update, unknown response" {
			t.Error(got.kinds())
		}
	}
}

func TestACPRequestsOutsideConfinementAreRefused(t *testing.T) {
	got := converse(t.Context(), t, driver.Task{}, func(a *agent) {
		prompt := a.prompted()
		for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "new/method", "initialize"} {
			a.say(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"path":"/etc/passwd","content":"x","command":"sh"}}`, method)
			if m := a.next(); m.Error["code"] != float64(-32601) || string(m.ID) != "7" || m.Result != nil {
				t.Errorf("%s: %+v", method, m)
			}
		}
		a.finish(prompt, "end_turn")
	})
	if got.outcome.Reason != driver.EndTurn || !strings.Contains(got.kinds(), "unknown terminal/create") {
		t.Errorf("%+v, %s", got.outcome, got.kinds())
	}
}

func TestACPFailures(t *testing.T) {
	for name, c := range map[string]struct {
		play func(*agent)
		want string
	}{
		"login": {func(a *agent) {
			a.answer(a.expect("initialize"), `{"protocolVersion":1}`)
			a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Authentication required"}}`, a.expect("session/new").ID)
			a.next()
		}, "session/new: it asks for a login: Authentication required"},
		"version": {func(a *agent) { a.answer(a.expect("initialize"), `{"protocolVersion":2}`); a.next() },
			"initialize: it speaks version 2 of the Agent Client Protocol, and Seer speaks version 1"},
		"no session": {func(a *agent) {
			a.answer(a.expect("initialize"), `{"protocolVersion":1}`)
			a.answer(a.expect("session/new"), `{}`)
			a.next()
		}, "session/new: its answer has no session"},
		"prompt": {func(a *agent) {
			a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":{"details":"no such model"}}}`, a.prompted().ID)
			a.next()
		}, "session/prompt: Internal error: no such model"},
		"error without text": {func(a *agent) { a.say(`{"jsonrpc":"2.0","id":%s,"error":7}`, a.prompted().ID); a.next() },
			"session/prompt: it failed without a message"},
		"stop reason":  {func(a *agent) { a.answer(a.prompted(), `{"stopReason":"tired"}`); a.next() }, `session/prompt: its stop reason is "tired"`},
		"end":          {func(a *agent) { a.prompted() }, "the program ended its output before its turn"},
		"end at once":  {func(*agent) {}, "the program ended its output before its turn"},
		"cut":          {func(a *agent) { io.WriteString(a.out, `{"jsonrpc":"2.0","id":1,"resu`) }, "the program ended its output before its turn"},
		"closed input": {func(a *agent) { a.prompted(); a.say("bye") }, "the program ended its output before its turn"},
	} {
		got := converse(t.Context(), t, driver.Task{Prompt: "p"}, c.play)
		if got.outcome != (driver.Outcome{Reason: driver.Failed, Error: c.want}) {
			t.Errorf("%s: %+v", name, got.outcome)
		}
	}
}

func TestACPCancel(t *testing.T) {
	for name, answer := range map[string]string{
		"answer": `{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}`,
		"error":  `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"aborted"}}`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		got := converse(ctx, t, driver.Task{}, func(a *agent) {
			prompt := a.prompted()
			cancel()
			if m := a.expect("session/cancel"); m.Params["sessionId"] != "s1" || m.ID != nil {
				t.Errorf("%+v", m)
			}
			a.say(`{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"options":[{"optionId":"o","kind":"allow_once"}]}}`)
			if text, _ := json.Marshal(a.next().Result); string(text) != `{"outcome":{"outcome":"cancelled"}}` {
				t.Errorf("a cancelled turn was permitted %s", text)
			}
			a.say(answer, prompt.ID)
			a.next()
		})
		if got.outcome != (driver.Outcome{Reason: driver.Cancelled}) {
			t.Errorf("%s: %+v", name, got.outcome)
		}
	}
}

func TestACPModel(t *testing.T) {
	const list = `{"sessionId":"s1","models":{"currentModelId":"one","availableModels":[{"modelId":"one"},{"modelId":"p/two"}]}}`
	const option = `{"sessionId":"s1","configOptions":[{"id":"mode","currentValue":"x"},{"id":"model","category":"model","currentValue":"p/one","options":[{"value":"p/one"},{"name":"g","options":[{"value":"p/two"}]}]}]}`
	for _, c := range []struct{ opened, model, method, params, why string }{
		{list, "", "", "", ""},
		{list, "one", "", "", ""},
		{list, "two", "session/set_model", `{"modelId":"p/two","sessionId":"s1"}`, ""},
		{list, "three", "", "", `the agent does not offer the model "three"; it offers one, p/two`},
		{option, "one", "", "", ""},
		{option, "two", "session/set_config_option", `{"configId":"model","sessionId":"s1","value":"p/two"}`, ""},
		{option, "wo", "", "", `the agent does not offer the model "wo"; it offers p/one, p/two`},
		{`{"sessionId":"s1"}`, "any", "", "", ""},
	} {
		got := converse(t.Context(), t, driver.Task{Model: c.model}, func(a *agent) {
			a.answer(a.expect("initialize"), `{"protocolVersion":1}`)
			a.answer(a.expect("session/new"), c.opened)
			if c.method != "" {
				m := a.expect(c.method)
				if text, _ := json.Marshal(m.Params); string(text) != c.params {
					t.Errorf("%s", text)
				}
				a.answer(m, `null`)
			}
			if c.why == "" {
				a.finish(a.expect("session/prompt"), "end_turn")
			}
		})
		if got.outcome.Error != c.why {
			t.Errorf("%s in %s: %+v", c.model, c.opened, got.outcome)
		}
	}
}

func TestACPAnswersThatNobodyAwaits(t *testing.T) {
	got := converse(t.Context(), t, driver.Task{}, func(a *agent) {
		first := a.expect("initialize")
		a.answer(first, `{"protocolVersion":1}`)
		a.answer(first, `{"protocolVersion":2}`)
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, strings.Repeat("9", 1000))
		a.answer(a.expect("session/new"), a.opened)
		a.finish(a.expect("session/prompt"), "end_turn")
	})
	if got.outcome.Reason != driver.EndTurn || len(got.updates) != 5 {
		t.Errorf("%+v, %s", got.outcome, got.kinds())
	}
}

// TestACPAgentThatAsksAndDoesNotRead sends more requests than answers can wait.
func TestACPAgentThatAsksAndDoesNotRead(t *testing.T) {
	const requests = 20_000
	got := converse(t.Context(), t, driver.Task{}, func(a *agent) {
		for range requests {
			a.say(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{}}`)
		}
	})
	if len(got.updates) != requests || got.outcome.Reason != driver.Failed {
		t.Errorf("%d updates, %+v", len(got.updates), got.outcome)
	}
}
