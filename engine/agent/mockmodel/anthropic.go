package mockmodel

// Anthropic's Messages.

func readMessages(body object) conversation {
	c := conversation{model: text(body, "model"), stream: body["stream"] == true}
	for _, t := range list(body, "tools") {
		c.tools = append(c.tools, tool{name: text(t, "name")})
	}
	called := map[string]string{}
	for _, m := range list(body, "messages") {
		spoke, calls := m["role"] == "assistant", false
		for _, part := range list(m, "content") {
			switch part["type"] {
			case "tool_use":
				called[text(part, "id")], calls = text(part, "name"), true
			case "tool_result":
				c.past = append(c.past, Entry{called[text(part, "tool_use_id")], plain(part["content"])})
			}
		}
		if spoke && !calls {
			c.past = append(c.past, Entry{Text: plain(m["content"])})
		}
	}
	return c
}

func messageUsage(a answer) object {
	u := a.usage
	return object{
		"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
	}
}

// messageBlocks are the parts of an answer, whole.
func messageBlocks(a answer) []object {
	var blocks []object
	if a.think != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": a.think, "signature": "scripted"})
	}
	if a.say != "" {
		blocks = append(blocks, object{"type": "text", "text": a.say})
	}
	if a.call != nil {
		blocks = append(blocks, object{"type": "tool_use", "id": a.call.id("toolu"), "name": a.call.tool.name, "input": a.call.arguments})
	}
	return blocks
}

func messageStop(a answer) string {
	if a.call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func wholeMessage(c conversation, a answer) object {
	return object{
		"id": "msg_scripted", "type": "message", "role": "assistant", "model": c.model, "content": messageBlocks(a),
		"stop_reason": messageStop(a), "stop_sequence": nil, "usage": messageUsage(a),
	}
}

func streamMessage(c conversation, a answer) []event {
	start := wholeMessage(c, a)
	start["content"], start["stop_reason"] = []object{}, nil
	out := []event{{"message_start", object{"type": "message_start", "message": start}}}
	for i, block := range messageBlocks(a) {
		empty, deltas := messageDeltas(block)
		out = append(out, event{"content_block_start", object{"type": "content_block_start", "index": i, "content_block": empty}})
		for _, delta := range deltas {
			out = append(out, event{"content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta}})
		}
		out = append(out, event{"content_block_stop", object{"type": "content_block_stop", "index": i}})
	}
	return append(out,
		event{"message_delta", object{"type": "message_delta", "delta": object{"stop_reason": messageStop(a), "stop_sequence": nil}, "usage": messageUsage(a)}},
		event{"message_stop", object{"type": "message_stop"}})
}

// messageDeltas are what a block begins as, and what fills it.
func messageDeltas(block object) (empty object, deltas []object) {
	switch block["type"] {
	case "thinking":
		for _, piece := range pieces(text(block, "thinking")) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": piece})
		}
		return object{"type": "thinking", "thinking": "", "signature": ""}, append(deltas, object{"type": "signature_delta", "signature": "scripted"})
	case "tool_use":
		used := &call{arguments: block["input"].(object)}
		return object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}},
			[]object{{"type": "input_json_delta", "partial_json": used.encoded()}}
	}
	for _, piece := range pieces(text(block, "text")) {
		deltas = append(deltas, object{"type": "text_delta", "text": piece})
	}
	return object{"type": "text", "text": ""}, deltas
}

func messageFailure(status int, message string) object {
	kind := "api_error"
	if status == 429 {
		kind = "rate_limit_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}
