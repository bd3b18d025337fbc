package mockmodel

import (
	"encoding/json"
	"fmt"
	"strings"
)

// object is a JSON object in one of the interfaces.
type object = map[string]any

// event is an event of an event stream.
type event struct {
	name string // empty = none
	data any    // a string is written unchanged
}

// api is one of the interfaces: it reads a conversation from a request, and formats the answer.
type api struct {
	name   string
	read   func(body object) conversation
	whole  func(c conversation, a answer) object
	stream func(c conversation, a answer) []event
	// failure returns the body of an error.
	failure func(status int, message string) object
}

// apiOf returns the interface for the path of a request.
func apiOf(path string) *api {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return &api{"anthropic", readMessages, wholeMessage, streamMessage, messageFailure}
	case strings.HasSuffix(path, "/responses"):
		return &api{"responses", readResponses, wholeResponse, streamResponse, openAIFailure}
	case strings.HasSuffix(path, "/chat/completions"):
		return &api{"chat", readChat, wholeChat, streamChat, openAIFailure}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return &api{"gemini", readGemini, wholeGemini, streamGemini, geminiFailure}
	}
	return nil
}

// list returns the objects in a field that is a list. It omits other values.
func list(o object, key string) (out []object) {
	items, _ := o[key].([]any)
	for _, item := range items {
		if m, ok := item.(object); ok {
			out = append(out, m)
		}
	}
	return out
}

func text(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

// plain returns the text of a content: a string, or a list of parts. A part without a text appears
// as its type.
func plain(content any) string {
	switch v := content.(type) {
	case string:
		return v
	case []any:
		var lines []string
		for _, item := range v {
			part, _ := item.(object)
			if s := text(part, "text"); s != "" {
				lines = append(lines, s)
			} else {
				lines = append(lines, "["+text(part, "type")+"]")
			}
		}
		return strings.Join(lines, "\n")
	}
	return ""
}

// encoded returns the JSON of arguments.
func (c *call) encoded() string {
	data, _ := json.Marshal(c.arguments) // cannot fail: the script is checked before
	return string(data)
}

func (c *call) id(prefix string) string { return fmt.Sprintf("%s_%d", prefix, c.number) }

// pieces splits a text as models do, into words with the spaces before them.
func pieces(text string) []string {
	var out []string
	for len(text) > 0 {
		end := strings.IndexByte(text[1:], ' ') + 1
		if end == 0 {
			end = len(text)
		}
		out, text = append(out, text[:end]), text[end:]
	}
	return out
}
