package driver

import (
	"encoding/json"
	"strings"
)

// claude reads the stream of Claude Code: one object per line, with messages of Anthropic's API.
type claude struct {
	*speech
	interrupted bool
	failure     string // failure in the last message
}

func (p *claude) begin(t Task) {
	p.in.write([]byte(t.Prompt))
	p.in.close()
}

// cancel closes the program's input. The program has its prompt already, so only a signal interrupts
// the turn.
func (p *claude) cancel() { p.in.abandon() }

func (p *claude) line(text []byte) {
	m, ok := parse(text)
	if !ok {
		return
	}
	switch m.text("type") {
	case "assistant":
		p.assistant(m)
	case "user":
		p.user(m)
	case "result":
		p.result(m)
	case "system":
		p.system(m)
	default:
		p.unknown(m.text("type"), nil)
	}
}

func (p *claude) last(cancelled bool) *Outcome {
	return missing(cancelled || p.interrupted, p.failure)
}

// system handles messages about the program's state. The first one lists what the program has found.
func (p *claude) system(m object) {
	fields := map[string]any{}
	for _, key := range []string{"model", "mcp_servers", "error", "error_status", "attempt", "retry_delay_ms"} {
		if m[key] != nil {
			fields[key] = m[key]
		}
	}
	p.unknown("system/"+m.text("subtype"), fields)
}

func (p *claude) assistant(m object) {
	message := m.object("message")
	if m.text("error") != "" {
		p.failure = m.text("error")
	}
	for _, block := range message.objects("content") {
		fields := map[string]any{}
		if id := message.text("id"); id != "" {
			fields["messageId"] = id
		}
		switch block.text("type") {
		case "text":
			if m.text("error") != "" {
				p.failure = block.text("text")
			}
			fields["content"] = content(block.text("text"))
			p.child(m, "agent_message_chunk", fields)
		case "thinking":
			fields["content"] = content(block.text("thinking"))
			p.child(m, "agent_thought_chunk", fields)
		case "tool_use", "server_tool_use", "mcp_tool_use":
			p.call(m, block)
		default:
			p.unknown("assistant/"+block.text("type"), nil)
		}
	}
}

func (p *claude) call(m, block object) {
	name := block.text("name")
	p.child(m, "tool_call", map[string]any{
		"toolCallId": block.text("id"), "title": name, "kind": claudeKind(name), "status": "in_progress", "rawInput": block["input"],
	})
	if name != "TodoWrite" {
		return
	}
	entries := []any{}
	for _, todo := range block.object("input").objects("todos") {
		entries = append(entries, map[string]any{"content": todo.text("content"), "priority": "medium", "status": todo.text("status")})
	}
	p.child(m, "plan", map[string]any{"entries": entries})
}

// child sends an update. An update of a sub-agent names the call that has started the sub-agent.
func (p *claude) child(m object, kind string, fields map[string]any) {
	if parent := m.text("parent_tool_use_id"); parent != "" {
		fields["_meta"] = map[string]any{"parentToolCallId": parent}
	}
	p.update(kind, fields)
}

func (p *claude) user(m object) {
	for _, block := range m.object("message").objects("content") {
		switch block.text("type") {
		case "tool_result":
			p.answer(m, block)
		case "text":
			if strings.HasPrefix(block.text("text"), "[Request interrupted by user") {
				p.interrupted = true
			}
			p.child(m, "user_message_chunk", map[string]any{"content": content(block.text("text"))})
		default:
			p.unknown("user/"+block.text("type"), nil)
		}
	}
}

func (p *claude) answer(m, block object) {
	fields := map[string]any{"toolCallId": block.text("tool_use_id"), "status": "completed", "content": claudeContent(block)}
	if block.flag("is_error") {
		fields["status"] = "failed"
	}
	if raw := m.object("tool_use_result")["structuredContent"]; raw != nil {
		fields["rawOutput"] = raw
	}
	p.child(m, "tool_call_update", fields)
}

// claudeContent converts the answer of a tool: a text, or blocks.
func claudeContent(block object) []any {
	if text := block.text("content"); text != "" {
		return output(content(text))
	}
	var blocks []map[string]any
	for _, b := range block.objects("content") {
		switch source := b.object("source"); {
		case b.text("type") == "text":
			blocks = append(blocks, content(b.text("text")))
		case b.text("type") == "image" && source.text("data") != "":
			blocks = append(blocks, map[string]any{"type": "image", "mimeType": source.text("media_type"), "data": source.text("data")})
		default:
			text, _ := json.Marshal(b)
			blocks = append(blocks, content(string(text)))
		}
	}
	return output(blocks...)
}

// claudeKinds are ACP's kinds of the program's own tools.
var claudeKinds = map[string]string{
	"Bash": "execute", "BashOutput": "execute", "KillShell": "execute", "Monitor": "execute",
	"Read": "read", "NotebookRead": "read", "Edit": "edit", "MultiEdit": "edit", "Write": "edit", "NotebookEdit": "edit",
	"Glob": "search", "Grep": "search", "LS": "search", "WebSearch": "search", "WebFetch": "fetch",
	"Task": "think", "TodoWrite": "think", "TaskCreate": "think", "TaskUpdate": "think", "ExitPlanMode": "switch_mode",
}

func claudeKind(name string) string {
	if kind := claudeKinds[name]; kind != "" {
		return kind
	}
	return "other"
}

// result handles the end of a turn. A program whose sub-agents continue may end several turns; the
// last one counts.
func (p *claude) result(m object) {
	p.usage(m)
	reason, why := EndTurn, ""
	switch subtype := m.text("subtype"); {
	case p.interrupted:
		reason = Cancelled
	case subtype == "error_max_turns":
		reason, why = MaxTurnRequests, "the limit of turns is reached"
	case m.flag("is_error") || subtype != "success":
		reason, why = Failed, claudeFailure(m)
	case m.text("stop_reason") == "max_tokens":
		reason = MaxTokens
	case m.text("stop_reason") == "refusal":
		reason = Refusal
	}
	p.end(reason, why)
	p.outcome = &Outcome{Reason: reason, Error: why}
}

func claudeFailure(m object) string {
	var all []string
	for _, e := range m.list("errors") {
		if text, ok := e.(string); ok {
			all = append(all, text)
		}
	}
	switch {
	case m.text("result") != "":
		return m.text("result")
	case len(all) > 0:
		return strings.Join(all, "; ")
	}
	return m.text("subtype")
}

// usage sends the tokens and the cost of a result, which include all turns up to it.
func (p *claude) usage(m object) {
	u := m.object("usage")
	fields := map[string]any{"_meta": map[string]any{"usage": map[string]any{
		"inputTokens": u.number("input_tokens"), "outputTokens": u.number("output_tokens"),
		"cachedReadTokens": u.number("cache_read_input_tokens"), "cachedWriteTokens": u.number("cache_creation_input_tokens"),
	}}}
	if cost := m["total_cost_usd"]; cost != nil {
		fields["cost"] = map[string]any{"amount": cost, "currency": "USD"}
	}
	p.update("usage_update", fields)
}
