package driver

import "strings"

// codex reads the stream of codex exec --json: threads, turns and items.
type codex struct {
	*speech
	calls   seen
	failure string
}

func (p *codex) begin(t Task) {
	p.in.write([]byte(t.Prompt))
	p.in.close()
}

// cancel closes the program's input. The program has its prompt already, so only a signal interrupts
// the turn.
func (p *codex) cancel() { p.in.abandon() }

func (p *codex) last(cancelled bool) *Outcome { return missing(cancelled, p.failure) }

func (p *codex) line(text []byte) {
	m, ok := parse(text)
	if !ok {
		return
	}
	switch typ := m.text("type"); typ {
	case "item.started", "item.updated", "item.completed":
		p.item(m.object("item"), typ)
	case "turn.completed":
		u := m.object("usage")
		p.update("usage_update", map[string]any{"_meta": map[string]any{"usage": map[string]any{
			"inputTokens": u.number("input_tokens") - u.number("cached_input_tokens"), "outputTokens": u.number("output_tokens"),
			"cachedReadTokens": u.number("cached_input_tokens"), "cachedWriteTokens": u.number("cache_write_input_tokens"),
		}}})
		p.end(EndTurn, "")
	case "turn.failed":
		why := m.object("error").text("message")
		if why == "" {
			why = "the turn failed"
		}
		p.unknown(typ, map[string]any{"error": why})
		p.end(Failed, why)
	case "error": // also for a try that Codex repeats
		p.failure = m.text("message")
		p.unknown(typ, map[string]any{"error": p.failure})
	default:
		p.unknown(typ, nil)
	}
}

func (p *codex) item(item object, typ string) {
	switch item.text("type") {
	case "agent_message":
		p.whole(item, typ, "agent_message_chunk")
	case "reasoning":
		p.whole(item, typ, "agent_thought_chunk")
	case "todo_list":
		p.plan(item)
	case "mcp_tool_call":
		p.call(item, item.text("server")+"/"+item.text("tool"), "other", item["arguments"])
	case "command_execution":
		p.call(item, item.text("command"), "execute", map[string]any{"command": item["command"]})
	case "file_change":
		p.call(item, "file change", "edit", map[string]any{"changes": item["changes"]})
	case "web_search":
		p.call(item, "web search", "search", map[string]any{"query": item["query"]})
	case "error": // a warning: a failed turn has turn.failed
		p.unknown("item/error", map[string]any{"error": item.text("message")})
	default:
		p.unknown("item/"+item.text("type"), nil)
	}
}

// whole sends the text of an item once, when it is complete.
func (p *codex) whole(item object, typ, kind string) {
	if typ != "item.completed" {
		p.unknown(typ, nil)
		return
	}
	p.update(kind, map[string]any{"content": content(item.text("text")), "messageId": item.text("id")})
}

func (p *codex) plan(item object) {
	entries := []any{}
	for _, todo := range item.objects("items") {
		status := "pending"
		if todo.flag("completed") {
			status = "completed"
		}
		entries = append(entries, map[string]any{"content": todo.text("text"), "priority": "medium", "status": status})
	}
	p.update("plan", map[string]any{"entries": entries})
}

func (p *codex) call(item object, title, kind string, input any) {
	fields := map[string]any{"toolCallId": item.text("id"), "status": codexStatus(item.text("status"))}
	if p.calls.add(item.text("id")) {
		fields["title"], fields["kind"], fields["rawInput"] = title, kind, input
		p.answer(item, fields)
		p.update("tool_call", fields)
		return
	}
	p.answer(item, fields)
	p.update("tool_call_update", fields)
}

// answer adds the item's data about the end of its call.
func (p *codex) answer(item object, fields map[string]any) {
	result := item.object("result")
	var blocks []map[string]any
	for _, b := range result.objects("content") {
		blocks = append(blocks, b)
	}
	if text := item.text("aggregated_output"); text != "" {
		blocks = append(blocks, content(text))
	}
	if text := item.object("error").text("message"); text != "" {
		blocks = append(blocks, content(text))
	}
	if len(blocks) > 0 {
		fields["content"] = output(blocks...)
	}
	if raw := result.first("structured_content", "structuredContent"); raw != nil {
		fields["rawOutput"] = raw
	}
	if item["exit_code"] != nil {
		fields["rawOutput"] = map[string]any{"exit_code": item["exit_code"]}
	}
}

func codexStatus(status string) string {
	switch strings.ReplaceAll(status, "_", "") {
	case "completed", "failed":
		return status
	case "declined":
		return "failed"
	case "":
		return "completed" // Codex reports items without a status only at their end
	}
	return "in_progress"
}
