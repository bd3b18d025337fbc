package mockmodel

// OpenAI's Responses and Chat Completions.

func readResponses(body object) conversation {
	c := conversation{model: text(body, "model"), stream: body["stream"] == true}
	for _, t := range list(body, "tools") {
		if t["type"] == "namespace" {
			for _, inner := range list(t, "tools") {
				c.tools = append(c.tools, tool{text(inner, "name"), text(t, "name")})
			}
		} else if name := text(t, "name"); name != "" {
			c.tools = append(c.tools, tool{name: name})
		}
	}
	called := map[string]string{}
	for _, item := range list(body, "input") {
		switch item["type"] {
		case "function_call":
			called[text(item, "call_id")] = text(item, "name")
		case "function_call_output":
			c.past = append(c.past, Entry{called[text(item, "call_id")], plain(item["output"])})
		case "message":
			if item["role"] == "assistant" {
				c.past = append(c.past, Entry{Text: plain(item["content"])})
			}
		}
	}
	return withoutComments(c)
}

// withoutComments leaves out what the model has said before a call: it ended no turn.
func withoutComments(c conversation) conversation {
	var past []Entry
	for i, e := range c.past {
		if e.Tool != "" || i == len(c.past)-1 || c.past[i+1].Tool == "" {
			past = append(past, e)
		}
	}
	c.past = past
	return c
}

// responseItems are the parts of an answer.
func responseItems(a answer) []object {
	var items []object
	if a.say != "" || a.call == nil {
		items = append(items, object{
			"type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": a.say, "annotations": []any{}}},
		})
	}
	if a.call != nil {
		item := object{
			"type": "function_call", "id": a.call.id("fc"), "call_id": a.call.id("call"), "name": a.call.tool.name,
			"arguments": a.call.encoded(), "status": "completed",
		}
		if a.call.tool.namespace != "" {
			item["namespace"] = a.call.tool.namespace
		}
		items = append(items, item)
	}
	return items
}

func wholeResponse(c conversation, a answer) object {
	u := a.usage
	input := u.Input + u.CacheRead + u.CacheWrite
	return object{
		"id": "resp_scripted", "object": "response", "model": c.model, "status": "completed", "output": responseItems(a),
		"usage": object{
			"input_tokens": input, "output_tokens": u.Output, "total_tokens": input + u.Output,
			"input_tokens_details": object{"cached_tokens": u.CacheRead}, "output_tokens_details": object{"reasoning_tokens": 0},
		},
	}
}

func streamResponse(c conversation, a answer) []event {
	out := []event{{"response.created", object{"type": "response.created", "response": object{"id": "resp_scripted", "status": "in_progress"}}}}
	for i, item := range responseItems(a) {
		out = append(out, event{"response.output_item.added", object{"type": "response.output_item.added", "output_index": i, "item": item}})
		if item["type"] == "message" {
			for _, piece := range pieces(a.say) {
				out = append(out, event{"response.output_text.delta", object{
					"type": "response.output_text.delta", "item_id": item["id"], "output_index": i, "content_index": 0, "delta": piece,
				}})
			}
		}
		out = append(out, event{"response.output_item.done", object{"type": "response.output_item.done", "output_index": i, "item": item}})
	}
	return append(out, event{"response.completed", object{"type": "response.completed", "response": wholeResponse(c, a)}})
}

func openAIFailure(status int, message string) object {
	kind := "server_error"
	if status == 429 {
		kind = "rate_limit_exceeded"
	}
	return object{"error": object{"message": message, "type": kind, "code": kind, "param": nil}}
}

func readChat(body object) conversation {
	c := conversation{model: text(body, "model"), stream: body["stream"] == true}
	for _, t := range list(body, "tools") {
		if f, ok := t["function"].(object); ok {
			c.tools = append(c.tools, tool{name: text(f, "name")})
		}
	}
	called := map[string]string{}
	for _, m := range list(body, "messages") {
		switch calls := list(m, "tool_calls"); {
		case m["role"] == "tool":
			c.past = append(c.past, Entry{called[text(m, "tool_call_id")], plain(m["content"])})
		case len(calls) > 0:
			for _, made := range calls {
				f, _ := made["function"].(object)
				called[text(made, "id")] = text(f, "name")
			}
		case m["role"] == "assistant":
			c.past = append(c.past, Entry{Text: plain(m["content"])})
		}
	}
	return c
}

func chatReason(a answer) string {
	if a.call != nil {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(a answer) object {
	u := a.usage
	input := u.Input + u.CacheRead + u.CacheWrite
	return object{
		"prompt_tokens": input, "completion_tokens": u.Output, "total_tokens": input + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead},
	}
}

func chatCall(a answer) []object {
	return []object{{
		"index": 0, "id": a.call.id("call"), "type": "function",
		"function": object{"name": a.call.tool.name, "arguments": a.call.encoded()},
	}}
}

func chatBase(c conversation, kind string) object {
	return object{"id": "chatcmpl_scripted", "object": kind, "created": 1, "model": c.model}
}

func wholeChat(c conversation, a answer) object {
	message := object{"role": "assistant", "content": a.say}
	if a.call != nil {
		message["tool_calls"] = chatCall(a)
	}
	out := chatBase(c, "chat.completion")
	out["choices"] = []object{{"index": 0, "message": message, "finish_reason": chatReason(a)}}
	out["usage"] = chatUsage(a)
	return out
}

func streamChat(c conversation, a answer) []event {
	chunk := func(delta object, reason any) object {
		out := chatBase(c, "chat.completion.chunk")
		out["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": reason}}
		return out
	}
	out := []event{{data: chunk(object{"role": "assistant", "content": ""}, nil)}}
	for _, piece := range pieces(a.say) {
		out = append(out, event{data: chunk(object{"content": piece}, nil)})
	}
	if a.call != nil {
		out = append(out, event{data: chunk(object{"tool_calls": chatCall(a)}, nil)})
	}
	last := chunk(object{}, chatReason(a))
	last["usage"] = chatUsage(a)
	return append(out, event{data: last}, event{data: "[DONE]"})
}
