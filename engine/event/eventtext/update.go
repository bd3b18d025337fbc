package eventtext

import (
	"fmt"
	"strings"
)

// updateText is what a session/update of the Agent Client Protocol says.
func updateText(update map[string]any) string {
	field := func(name string) string { s, _ := update[name].(string); return s }
	kind := field("sessionUpdate")
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk", "user_message_chunk":
		return contentText(update["content"])
	case "tool_call":
		return "calls " + field("title")
	case "tool_call_update":
		what := field("title")
		if what == "" {
			what = field("toolCallId")
		}
		return strings.TrimSpace(what + " " + field("status"))
	case "plan":
		return "plan: " + planText(update["entries"])
	}
	return kind
}

// contentText is the text of a content block, or its type in brackets.
func contentText(content any) string {
	block, _ := content.(map[string]any)
	if text, is := block["text"].(string); is {
		return text
	}
	return fmt.Sprintf("[%v]", block["type"])
}

func planText(entries any) string {
	list, _ := entries.([]any)
	var words []string
	for _, entry := range list {
		e, _ := entry.(map[string]any)
		words = append(words, fmt.Sprint(e["content"]))
	}
	return strings.Join(words, "; ")
}
