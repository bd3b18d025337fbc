package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// Limits of a tool's result.
const (
	// MaxText is how many bytes of a result are shown as text. More would fill an
	// agent's context; structuredContent still has the whole result.
	MaxText = reply.MaxText
	// MaxResult is the largest result that is passed on at all.
	MaxResult = 8 << 20
)

// MetaError is the key in _meta of a failed call under which programs find the
// [protocol.CallError].
const MetaError = reply.MetaError

const resultKey = "result"

// result is the answer of a tool whose call has ended.
func (s *server) result(ctx context.Context, j *job) *mcp.CallToolResult {
	var (
		answer  client.Answer
		err     error
		items   []json.RawMessage
		omitted int
	)
	j.View(func() { answer, err, items, omitted = j.answer, j.err, j.items, j.omitted })
	switch {
	case err != nil:
		s.log.Debug("call failed", "function", j.tool.fn.Name, "error", err)
		r := reply.Failure(err)
		if len(items) > 0 {
			r.Content = append(r.Content, &mcp.TextContent{Text: fmt.Sprintf("Before that it gave %d items:\n%s", len(items)+omitted, reply.Cut(string(list(items)), MaxText))})
		}
		return r
	case j.tool.fn.Stream || len(items) > 0:
		return j.tool.stream(items, omitted)
	}
	return s.success(ctx, j.tool, answer.Body)
}

func list(items []json.RawMessage) json.RawMessage {
	data := bytes.Join(asBytes(items), []byte(","))
	return append(append([]byte("["), data...), ']')
}

func asBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}

// stream is the answer of a generator.
func (t *tool) stream(items []json.RawMessage, omitted int) *mcp.CallToolResult {
	structured := map[string]any{resultKey: list(items)}
	text := string(list(items))
	if omitted > 0 {
		structured["omitted"] = omitted
		text += fmt.Sprintf("\n[the first %d of %d items; the others are not kept]", len(items), len(items)+omitted)
	}
	if r := t.unfit(structured, text); r != nil {
		return r
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: reply.Shorten(text)}}, StructuredContent: structured}
}

// success is the answer of a function that has returned.
func (s *server) success(ctx context.Context, t *tool, body client.Body) *mcp.CallToolResult {
	v, err := show(body)
	switch {
	case errors.Is(err, value.ErrTooLarge), len(v.json) > MaxResult:
		return reply.Problem(fmt.Sprintf("%s returned a value of more than %d bytes of JSON; at most as many can be passed on. Let it return less, or an array, which stays in the sandbox as a handle. %s",
			t.fn.Name, MaxResult, reply.Cut(string(v.json), MaxText)))
	case err != nil:
		return reply.Problem(fmt.Sprintf("the result of %s cannot be read: %v", t.fn.Name, err))
	case v.whole != nil:
		return s.handleResult(ctx, v.whole, v.json)
	}
	value, err := decode(v.json)
	if err != nil {
		return reply.Problem(fmt.Sprintf("the result of %s is not valid JSON: %v", t.fn.Name, err))
	}
	text := string(v.json)
	if plain, ok := value.(string); ok {
		text = plain // which reads better without quotes
	}
	structured := v.json // its keys in the function's order
	if _, isObject := value.(map[string]any); !isObject || t.wrap {
		value, structured = map[string]any{resultKey: value}, slices.Concat(json.RawMessage(`{"`+resultKey+`":`), v.json, json.RawMessage("}"))
	}
	if r := t.unfit(value, text); r != nil && len(v.images) == 0 {
		return r
	}
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: reply.Shorten(text)}}, StructuredContent: structured}
	for _, image := range v.images {
		r.Content = append(r.Content, image)
	}
	for _, id := range v.ids {
		r.Content = append(r.Content, s.linkTo(&handle{ID: id}))
	}
	return r
}

// unfit does what clients do with the output schema, so that a wrong annotation
// costs the agent an explanation and not the value.
func (t *tool) unfit(structured any, text string) *mcp.CallToolResult {
	if err := t.check(structured); err != nil {
		return reply.Problem(fmt.Sprintf("%s returned a value that is not the %s its annotation promises (%v). The value:\n%s",
			t.fn.Name, t.fn.Returns, err, reply.Shorten(text)))
	}
	return nil
}

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
