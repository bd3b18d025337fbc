package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
)

// Limits of a tool's result.
const (
	// MaxText is how many bytes of a result are shown as text. More would fill an
	// agent's context; structuredContent still has the whole result.
	MaxText = 100 << 10
	// MaxResult is the largest result that is passed on at all.
	MaxResult = 8 << 20
)

// MetaError is the key in _meta of a failed call under which programs find the
// [protocol.CallError]. It is not structuredContent, because clients check that
// against the output schema also when the call failed.
const MetaError = "seer-engine.github.io/error"

const resultKey = "result"

func (t *tool) success(raw json.RawMessage) *mcp.CallToolResult {
	if len(raw) > MaxResult {
		return problem(fmt.Sprintf("%s returned %d bytes of JSON; at most %d can be passed on. Let it return less, or write a file in the sandbox and return its path. The result begins:\n%s",
			t.fn.Name, len(raw), MaxResult, head(raw)))
	}
	value, text, err := plain(raw)
	if err != nil {
		return problem(fmt.Sprintf("the result of %s is not valid JSON: %v", t.fn.Name, err))
	}
	structured, ok := value.(map[string]any)
	if !ok || t.wrap {
		structured = map[string]any{resultKey: value}
	}
	if err := t.check(structured); err != nil {
		return problem(fmt.Sprintf("%s returned a value that is not the %s its annotation promises (%v). The value:\n%s",
			t.fn.Name, t.fn.Returns, err, shorten(text)))
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: shorten(text)}},
		StructuredContent: structured,
	}
}

// check does what clients do with the output schema, so that a wrong annotation
// costs the agent an explanation and not the value.
func (t *tool) check(structured any) error {
	if t.output == nil {
		return nil
	}
	// The validator takes json.Number for a string.
	data, err := json.Marshal(structured)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	return t.output.Validate(v)
}

// shorten cuts a long text and says so.
func shorten(text []byte) string {
	if len(text) <= MaxText {
		return string(text)
	}
	return fmt.Sprintf("%s\n[cut by Seer: the first %d of %d bytes; the whole is in structuredContent]", head(text), MaxText, len(text))
}

// head is the beginning of a text, cut between two characters.
func head(text []byte) []byte {
	if len(text) <= MaxText {
		return text
	}
	n := MaxText
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func problem(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// failure is a call that failed, as the agent should read it.
func failure(err error) *mcp.CallToolResult {
	var call *protocol.CallError
	if !errors.As(err, &call) {
		return problem(err.Error())
	}
	text := call.Error()
	if call.Traceback != "" {
		text += "\n\n" + call.Traceback
	}
	r := problem(text)
	r.Meta = mcp.Meta{MetaError: call}
	return r
}

// plain reads a value of the protocol. Large whole numbers stay exact.
func plain(raw json.RawMessage) (any, []byte, error) {
	text, err := protocol.Plain(raw)
	if err != nil {
		return nil, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err = d.Decode(&v)
	return v, text, err
}
