package inspectlog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
)

// turn is a message of the agent that is put together: thoughts, then a text, then tool calls.
type turn struct {
	began, ended time.Time
	thoughts     []any
	text         string
	calls        []*runs.Item
}

func (t *turn) empty() bool { return t.thoughts == nil && t.text == "" && t.calls == nil }

// addMessages makes messages and events of the transcript.
func (b *builder) addMessages() {
	b.messages = []object{}
	if b.prompt != "" {
		b.message("user", object{"content": b.prompt})
	}
	b.add(b.run.Started, object{
		"event": "sample_init", "sample": object{"id": sampleID, "input": b.prompt, "target": ""}, "state": object{},
	})
	var t turn
	for i := range b.items {
		item := &b.items[i]
		switch item.Kind {
		case runs.ItemThought, runs.ItemMessage:
			if t.text != "" || t.calls != nil {
				b.flush(&t)
			}
			t.begin(item)
			if item.Kind == runs.ItemThought {
				t.thoughts = append(t.thoughts, object{"type": "reasoning", "reasoning": cut(item.Text, maxText), "redacted": false})
			} else {
				t.text = cut(item.Text, maxText)
			}
		case runs.ItemTool:
			if t.calls != nil && !item.Time.Before(t.ended) { // the calls before it have ended: a message of its own
				b.flush(&t)
			}
			t.begin(item)
			t.calls = append(t.calls, item)
		case runs.ItemUser:
			b.flush(&t)
			if text := cut(item.Text, maxText); text != b.prompt {
				b.message("user", object{"content": text})
			}
		default: // turn ends are among the events already
			if item.Kind != runs.ItemTurn {
				b.flush(&t)
				b.info(item.Time, event.Type("agent."+item.Kind), object{"text": cut(item.Text, maxText), "plan": item.Plan})
			}
		}
	}
	b.flush(&t)
}

func (t *turn) begin(item *runs.Item) {
	if t.empty() {
		t.began = item.Time
	}
	if item.Ended.After(t.ended) {
		t.ended = item.Ended
	}
}

func (b *builder) message(role string, m object) object {
	m["role"], m["id"] = role, fmt.Sprintf("%s-m%d", b.run.ID, len(b.messages)+1)
	b.messages = append(b.messages, m)
	return m
}

// flush adds the message that is put together, and the answers of its tools.
func (b *builder) flush(t *turn) {
	if t.empty() {
		return
	}
	m := object{"content": t.text, "source": "generate", "model": b.model()}
	if t.thoughts != nil {
		m["content"] = append(t.thoughts, object{"type": "text", "text": t.text})
	}
	reason := "stop"
	var calls []any
	for _, c := range t.calls {
		reason = "tool_calls"
		calls = append(calls, object{"id": valid(c.Tool.ID), "function": name(c), "arguments": input(c), "type": "function"})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	b.message("assistant", m)
	b.add(t.began, object{
		"event": "model", "model": b.model(), "input": []any{}, "tools": []any{}, "tool_choice": "auto", "config": object{},
		"output": b.outputOf(m, reason), "completed": stamp(t.ended),
	})
	for _, c := range t.calls {
		b.tool(c)
	}
	*t = turn{}
}

// tool adds a tool call of the agent and its answer.
func (b *builder) tool(c *runs.Item) {
	output := cut(cmp.Or(c.Tool.Text, text(c.Tool.Output)), maxText)
	answer := object{"content": output, "tool_call_id": valid(c.Tool.ID), "function": name(c)}
	e := object{
		"event": "tool", "type": "function", "id": valid(c.Tool.ID), "function": name(c), "arguments": input(c), "result": output, "events": []any{},
		"completed": stamp(c.Ended), "working_time": max(0, c.Ended.Sub(c.Time).Seconds()),
		"metadata": object{"kind": c.Tool.Kind, "status": c.Tool.Status},
	}
	if c.Tool.Status == "failed" {
		failed := object{"type": "unknown", "message": output}
		answer["error"], e["error"], e["failed"] = failed, failed, true
	}
	e["message_id"] = b.message("tool", answer)["id"]
	b.add(c.Time, e)
}

func name(c *runs.Item) string { return cmp.Or(cut(c.Tool.Title, 200), valid(c.Tool.Kind), "tool") }

// input are the arguments of a tool call.
func input(c *runs.Item) object {
	switch in := c.Tool.Input.(type) {
	case nil:
		return object{}
	case map[string]any:
		return in
	default:
		return object{"input": in}
	}
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
