package driver_test

import (
	"strings"

	"github.com/seer-engine/seer/engine/agent/driver"
)

// story tells the texts and the calls of updates in one line: chunks joined, and for each call its
// name, its last status and its last text, where it began.
func story(updates []driver.Update) string {
	var parts []string
	at := map[string]int{}
	name, status, text := map[string]string{}, map[string]string{}, map[string]string{}
	open := false
	for _, u := range updates {
		kind, _ := u.Update["sessionUpdate"].(string)
		id, _ := u.Update["toolCallId"].(string)
		switch kind {
		case "agent_message_chunk":
			if !open {
				parts = append(parts, "")
			}
			parts[len(parts)-1] += textOf(u.Update["content"])
			open = true
			continue
		case "tool_call", "tool_call_update":
			if _, known := at[id]; !known {
				at[id] = len(parts)
				parts = append(parts, "")
			}
			if title, ok := u.Update["title"].(string); ok && title != "" && name[id] == "" {
				name[id] = plain(title)
			}
			if s, ok := u.Update["status"].(string); ok {
				status[id] = s
			}
			if s := textOf(u.Update["content"]); s != "" {
				text[id] = s
			}
			parts[at[id]] = strings.Join([]string{name[id], status[id], plainText(text[id])}, " ")
		}
		open = open && kind == "unknown"
	}
	return strings.Join(parts, "|")
}

// plain is the name of a tool of the server calc, as the four agents write it.
func plain(title string) string {
	for _, tool := range []string{"add", "fail"} {
		if strings.Contains(title, tool) && strings.Contains(title, "calc") {
			return "calc " + tool
		}
	}
	return title
}

// plainText is the answer of such a tool.
func plainText(text string) string {
	switch {
	case text == `{"sum":5}`:
		return "5"
	case strings.Contains(text, "it failed"):
		return "it failed"
	}
	return text
}

// textOf joins the texts of a block, or of the blocks of a call.
func textOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if inner, ok := v["content"]; ok {
			return textOf(inner)
		}
		text, _ := v["text"].(string)
		return text
	case []any:
		var all string
		for _, item := range v {
			all += textOf(item)
		}
		return all
	}
	return ""
}
