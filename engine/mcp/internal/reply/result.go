// Package reply makes the answers of MCP tools: results, errors, and texts that are cut to a
// length.
package reply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	// MaxText is how many bytes of a result are shown as text. More would fill an
	// agent's context.
	MaxText = 100 << 10
	// MaxImage is the largest image that is shown. Models take no larger ones.
	MaxImage = 5 << 20
	// MetaError is the key in _meta of a failed call under which programs find the
	// [protocol.CallError]. It is not structuredContent, because clients check that
	// against the output schema also when the call failed.
	MetaError = "seer-engine.github.io/error"
)

// Problem is a tool error that says this.
func Problem(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Failure is something that failed, as the agent should read it: a call of the user's
// code with its traceback, anything else by its message.
func Failure(err error) *mcp.CallToolResult {
	var call *protocol.CallError
	if !errors.As(err, &call) {
		return Problem(err.Error())
	}
	text := call.Error()
	if call.Traceback != "" {
		text += "\n\n" + call.Traceback
	}
	r := Problem(text)
	r.Meta = mcp.Meta{MetaError: call}
	return r
}

// BadArguments is the failure of a tool whose arguments do not fit.
func BadArguments(tool string, err error) *mcp.CallToolResult {
	return Failure(&protocol.CallError{Code: protocol.CallBadArguments, Message: tool + ": " + err.Error()})
}

// Answer is an object as structured content, and the same JSON as text; what else is to
// be shown, such as images, stands behind it. A text of more than [MaxText] is cut, and
// says so.
func Answer(object any, more ...mcp.Content) *mcp.CallToolResult {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return Problem(fmt.Sprintf("the answer cannot be written as JSON: %v", err))
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return AnswerAs(json.RawMessage(data), string(data), more...)
}

// AnswerAs is an object as structured content beside a text that tells the same in a
// way that reads better than JSON.
func AnswerAs(object any, text string, more ...mcp.Content) *mcp.CallToolResult {
	content := append([]mcp.Content{&mcp.TextContent{Text: Shorten(text)}}, more...)
	return &mcp.CallToolResult{Content: content, StructuredContent: object}
}

// Shorten cuts a text of more than [MaxText] bytes that stands beside structured
// content, and says so.
func Shorten(text string) string {
	if len(text) <= MaxText {
		return text
	}
	return fmt.Sprintf("%s\n[cut by Seer: the first %d of %d bytes; the whole is in structuredContent]", Cut(text, MaxText), MaxText, len(text))
}

// Cut is the beginning of a text, cut between two characters.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Tail is the end of a text, cut between two characters.
func Tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	i := len(text) - n
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return text[i:]
}

// CutMiddle leaves out the middle of a text of more than n bytes, and says there how
// much and where the whole is: "the whole is seer://…"; "" = nowhere.
func CutMiddle(text string, n int, whole string) string {
	if len(text) <= n {
		return text
	}
	head, tail := Cut(text, n/2), Tail(text, n-n/2)
	return Joined(head, tail, int64(len(text)-len(head)-len(tail)), whole)
}

// Joined is a text whose middle was left out.
func Joined(head, tail string, omitted int64, whole string) string {
	if whole != "" {
		whole = "; " + whole
	}
	return fmt.Sprintf("%s\n[cut by Seer: %d bytes left out%s]\n%s", head, omitted, whole, tail)
}
