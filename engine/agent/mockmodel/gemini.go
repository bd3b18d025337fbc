package mockmodel

import (
	"encoding/json"
	"strings"
)

// Gemini's generateContent.

func readGemini(body object) conversation {
	c := conversation{}
	for _, t := range list(body, "tools") {
		for _, f := range list(t, "functionDeclarations") {
			c.tools = append(c.tools, tool{name: text(f, "name")})
		}
	}
	for _, content := range list(body, "contents") {
		calls, spoken := false, ""
		for _, part := range list(content, "parts") {
			if answer, ok := part["functionResponse"].(object); ok {
				c.past = append(c.past, Entry{text(answer, "name"), geminiResult(answer["response"])})
			}
			_, is := part["functionCall"]
			calls = calls || is
			spoken += text(part, "text")
		}
		if content["role"] == "model" && !calls {
			c.past = append(c.past, Entry{Text: spoken})
		}
	}
	if config, ok := body["generationConfig"].(object); ok && strings.Contains(text(config, "responseMimeType"), "json") {
		c.tools = nil // the agent asks who speaks next; see wholeGemini
		c.model = geminiJSON
	}
	return c
}

// geminiJSON marks a request that wants JSON.
const geminiJSON = "json"

func geminiResult(response any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(response) // it was decoded from JSON
	return strings.TrimSuffix(out.String(), "\n")
}

func geminiAnswer(a answer, parts []object) object {
	u := a.usage
	input := u.Input + u.CacheRead + u.CacheWrite
	return object{
		"candidates": []object{{"content": object{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{
			"promptTokenCount": input, "candidatesTokenCount": u.Output, "totalTokenCount": input + u.Output,
			"cachedContentTokenCount": u.CacheRead,
		},
	}
}

func geminiParts(c conversation, a answer) []object {
	if c.model == geminiJSON {
		return []object{{"text": `{"next_speaker": "user", "reasoning": "done", "complexity_score": 1, "complexity_reasoning": "simple"}`}}
	}
	var parts []object
	if a.think != "" {
		parts = append(parts, object{"text": a.think, "thought": true})
	}
	if a.say != "" || a.call == nil {
		parts = append(parts, object{"text": a.say})
	}
	if a.call != nil {
		parts = append(parts, object{"functionCall": object{"name": a.call.tool.name, "args": a.call.arguments}})
	}
	return parts
}

func wholeGemini(c conversation, a answer) object { return geminiAnswer(a, geminiParts(c, a)) }

func streamGemini(c conversation, a answer) []event {
	parts := geminiParts(c, a)
	out := make([]event, len(parts))
	for i, part := range parts {
		chunk := geminiAnswer(a, []object{part})
		if i < len(parts)-1 {
			delete(chunk["candidates"].([]object)[0], "finishReason")
		}
		out[i] = event{data: chunk}
	}
	return out
}

func geminiFailure(status int, message string) object {
	kind := "INTERNAL"
	if status == 429 {
		kind = "RESOURCE_EXHAUSTED"
	}
	return object{"error": object{"code": status, "message": message, "status": kind}}
}
