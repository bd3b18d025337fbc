package driver

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// version is the implemented version of the Agent Client Protocol.
const version = 1

// longestID is the limit for IDs of the agent's requests, because an answer repeats the ID. Requests
// with a longer ID get no answer.
const longestID = 1 << 10

// Codes of JSON-RPC and of ACP.
const (
	methodNotFound = -32601
	authRequired   = -32000
)

// request is a message to the agent.
type request struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      any            `json:"id,omitempty"`
	Method  string         `json:"method,omitempty"`
	Params  any            `json:"params,omitempty"`
	Result  any            `json:"result,omitempty"`
	Error   map[string]any `json:"error,omitempty"`
}

// acp is the client's side of the Agent Client Protocol, for one session with one prompt.
type acp struct {
	*speech
	task  Task
	calls seen

	mu        sync.Mutex              // for the fields below: cancel has a goroutine of its own
	count     int64                   // number of our requests
	waiting   map[string]func(object) // handlers of answers, by the ID of our request
	session   string
	prompting bool // the prompt has no answer yet
	cancelled bool
}

func newACP(s *speech, t Task) *acp {
	return &acp{speech: s, task: t, waiting: map[string]func(object){}}
}

func (p *acp) begin(Task) {
	p.ask("initialize", map[string]any{
		"protocolVersion": version,
		// Without files and terminals: the agent would act outside its confinement.
		"clientCapabilities": map[string]any{"fs": map[string]any{"readTextFile": false, "writeTextFile": false}, "terminal": false},
		"clientInfo":         map[string]any{"name": "seer", "title": "Seer", "version": "1"},
	}, p.initialized)
}

// cancel asks the agent to end its turn. The answer to the prompt then closes its input.
func (p *acp) cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled = true
	if !p.prompting {
		p.in.abandon()
		return
	}
	p.write(request{Method: "session/cancel", Params: map[string]any{"sessionId": p.session}})
}

func (p *acp) last(cancelled bool) *Outcome { return missing(cancelled, "") }

func (p *acp) write(r request) bool {
	r.JSONRPC = "2.0"
	text, err := json.Marshal(r)
	return err == nil && p.in.write(append(text, '\n'))
}

// ask sends a request. It calls then with the whole answer.
func (p *acp) ask(method string, params any, then func(object)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.askLocked(method, params, then)
}

func (p *acp) askLocked(method string, params any, then func(object)) {
	p.count++
	p.waiting[fmt.Sprint(p.count)] = then
	p.write(request{ID: p.count, Method: method, Params: params})
}

func (p *acp) line(text []byte) {
	m, ok := parse(text)
	if !ok {
		return
	}
	method, id := m.text("method"), m["id"]
	switch {
	case method == "session/update":
		p.sessionUpdate(m.object("params").object("update"))
	case method == "session/request_permission" && id != nil:
		p.permission(id, m.object("params"))
	case method != "" && id != nil:
		p.refuse(id, method)
	case method != "":
		p.unknown(method, nil)
	default:
		p.answered(m)
	}
}

// answered passes an answer to its handler. An answer without a handler becomes an unknown update.
func (p *acp) answered(m object) {
	key := fmt.Sprint(m["id"])
	p.mu.Lock()
	then := p.waiting[key]
	delete(p.waiting, key)
	p.mu.Unlock()
	if then != nil {
		then(m)
	}
	if p.native != "" {
		p.unknown("response", nil)
	}
}

// failed ends the run if an answer is an error.
func (p *acp) failed(m object, doing string) bool {
	e := m.object("error")
	if m["error"] == nil {
		return false
	}
	why := e.text("message")
	if inner, ok := parse([]byte(why)); ok && inner.object("error").text("message") != "" { // Gemini CLI
		why = fmt.Sprintf("%s (code %v)", inner.object("error").text("message"), e["code"])
	}
	for _, key := range []string{"details", "message", "error"} {
		if more := e.object("data").text(key); more != "" && !strings.Contains(why, more) {
			why += ": " + more
			break
		}
	}
	switch {
	case e.number("code") == authRequired:
		why = "it asks for a login: " + why
	case why == "":
		why = "it failed without a message"
	}
	p.end(Failed, doing+": "+why)
	return true
}

func (p *acp) initialized(m object) {
	if p.failed(m, "initialize") {
		return
	}
	if v := m.object("result").number("protocolVersion"); v != version {
		p.end(Failed, fmt.Sprintf("initialize: it speaks version %d of the Agent Client Protocol, and Seer speaks version %d", v, version))
		return
	}
	servers := []any{}
	for _, s := range p.task.Servers {
		env := []any{}
		for name, value := range s.Env {
			env = append(env, map[string]any{"name": name, "value": value})
		}
		sort.Slice(env, func(a, b int) bool {
			return env[a].(map[string]any)["name"].(string) < env[b].(map[string]any)["name"].(string)
		})
		servers = append(servers, map[string]any{"name": s.Name, "command": s.Command, "args": append([]string{}, s.Args...), "env": env})
	}
	p.ask("session/new", map[string]any{"cwd": p.task.Dir, "mcpServers": servers}, p.opened)
}

func (p *acp) opened(m object) {
	if p.failed(m, "session/new") {
		return
	}
	result := m.object("result")
	if result.text("sessionId") == "" {
		p.end(Failed, "session/new: its answer has no session")
		return
	}
	p.mu.Lock()
	p.session = result.text("sessionId")
	p.mu.Unlock()
	method, params, why := chooseModel(result, p.task.Model)
	switch {
	case why != "":
		p.end(Failed, why)
	case method == "":
		p.prompt()
	default:
		params["sessionId"] = result.text("sessionId")
		p.ask(method, params, func(m object) {
			if !p.failed(m, method) {
				p.prompt()
			}
		})
	}
}

func (p *acp) prompt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancelled {
		return
	}
	p.prompting = true
	p.askLocked("session/prompt", map[string]any{"sessionId": p.session, "prompt": []any{content(p.task.Prompt)}}, p.prompted)
}

func (p *acp) prompted(m object) {
	p.mu.Lock()
	p.prompting = false
	cancelled := p.cancelled
	p.mu.Unlock()
	if cancelled && m["error"] != nil {
		p.end(Cancelled, "")
		return
	}
	if p.failed(m, "session/prompt") {
		return
	}
	result := m.object("result")
	if usage := result.first("usage"); usage != nil {
		p.update("usage_update", map[string]any{"_meta": map[string]any{"usage": usage}})
	} else if quota := result.object("_meta").object("quota").object("token_count"); quota != nil { // Gemini CLI
		p.update("usage_update", map[string]any{"_meta": map[string]any{"usage": map[string]any{
			"inputTokens": quota.number("input_tokens"), "outputTokens": quota.number("output_tokens")}}})
	}
	switch reason := result.text("stopReason"); reason {
	case EndTurn, MaxTokens, MaxTurnRequests, Refusal, Cancelled:
		p.end(reason, "")
	default:
		p.end(Failed, fmt.Sprintf("session/prompt: its stop reason is %.100q", reason))
	}
}

// sessionUpdate sends an update unchanged, with one exception: the first update of a call that the
// agent has not announced becomes a tool_call.
func (p *acp) sessionUpdate(update object) {
	kind := update.text("sessionUpdate")
	if kind == "" {
		p.unknown("session/update", nil)
		return
	}
	id := update.text("toolCallId")
	switch {
	case kind == "tool_call":
		p.calls.add(id)
	case kind == "tool_call_update" && p.calls.add(id):
		update["sessionUpdate"] = "tool_call"
		if update.text("title") == "" {
			update["title"] = "tool"
		}
	}
	p.pass(update)
}

// permission grants the agent's request, because the confinement limits the agent.
func (p *acp) permission(id any, params object) {
	call := params.object("toolCall")
	if callID := call.text("toolCallId"); callID != "" && p.calls.add(callID) { // Gemini CLI asks first
		announced := map[string]any{}
		for key, value := range call {
			announced[key] = value
		}
		p.update("tool_call", announced)
	}
	p.mu.Lock()
	cancelled := p.cancelled
	p.mu.Unlock()
	option := ""
	if !cancelled {
		option = allowed(params.objects("options"))
	}
	outcome := map[string]any{"outcome": "selected", "optionId": option}
	if option == "" {
		outcome = map[string]any{"outcome": "cancelled"}
	}
	p.reply(id, request{Result: map[string]any{"outcome": outcome}})
	p.unknown("session/request_permission", map[string]any{"toolCallId": call.text("toolCallId"), "outcome": outcome})
}

// allowed returns the granting option with the fewest later requests; empty = no option grants.
func allowed(options []object) string {
	for _, kind := range []string{"allow_always", "allow_once"} {
		for _, o := range options {
			if o.text("kind") == kind {
				return o.text("optionId")
			}
		}
	}
	return ""
}

func (p *acp) refuse(id any, method string) {
	p.reply(id, request{Error: map[string]any{"code": methodNotFound, "message": "Seer does not have this method"}})
	p.unknown(method, map[string]any{"refused": true})
}

func (p *acp) reply(id any, r request) {
	switch v := id.(type) {
	case string:
		if len(v) > longestID {
			return
		}
	case json.Number:
		if len(v) > longestID {
			return
		}
	default:
		return // JSON-RPC has no other IDs
	}
	r.ID = id
	p.write(r)
}
