package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/arguments"
	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
)

const callSchema = `{
 "type": "object",
 "properties": {"call": {"type": "string", "description": "the id that the tool has answered"}},
 "required": ["call"],
 "additionalProperties": false
}`

// addCallTools adds the tools for calls that go on after their tool has answered.
func (s *server) addCallTools() {
	yes, no := true, false
	s.mcp.AddTool(&mcp.Tool{
		Name: callResultTool, Title: "Wait for a call", InputSchema: json.RawMessage(callSchema),
		Description: "Waits for a call that still runs after its tool has answered with its id. Returns the result. If the call takes longer, returns its state again: its place in the queue, its progress and the end of its output.",
		Annotations: &mcp.ToolAnnotations{Title: "Wait for a call", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}, s.onCall(callResultTool, func(ctx context.Context, req *mcp.CallToolRequest, j *job) *mcp.CallToolResult {
		return s.waitForOther(ctx, req, j)
	}))
	s.mcp.AddTool(&mcp.Tool{
		Name: callCancelTool, Title: "End a call", InputSchema: json.RawMessage(callSchema),
		Description: "Cancels a call that still runs after its tool has answered, and returns its outcome.",
		Annotations: &mcp.ToolAnnotations{Title: "End a call", DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
	}, s.onCall(callCancelTool, func(ctx context.Context, _ *mcp.CallToolRequest, j *job) *mcp.CallToolResult {
		return s.endCall(ctx, j)
	}))
}

func (s *server) onCall(name string, f func(context.Context, *mcp.CallToolRequest, *job) *mcp.CallToolResult) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct {
			Call string `json:"call"`
		}
		if err := arguments.Strict(json.RawMessage(callSchema), req.Params.Arguments, &in); err != nil {
			return reply.BadArguments(name, err), nil
		}
		j, err := s.find(ctx, in.Call)
		if err != nil {
			return reply.Failure(err), nil
		}
		return f(ctx, req, j), nil
	}
}

// waitForOther waits for a call that another request has begun: giving up the waiting
// is not giving up the call.
func (s *server) waitForOther(ctx context.Context, req *mcp.CallToolRequest, j *job) *mcp.CallToolResult {
	if task.Wait(ctx, req, j.tool.fn.Name, j, j.Done(), clients.WaitOf(req.Session, s.opts.Wait)) {
		return answer(ctx, s, j, req.Session)
	}
	return s.handOver(ctx, req, j)
}

// endCall cancels a call and tells what has come of it.
func (s *server) endCall(ctx context.Context, j *job) *mcp.CallToolResult {
	if !j.Ended() {
		if err := j.cancel(ctx); err != nil {
			return reply.Failure(err)
		}
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
	case <-time.After(cancelPatience):
	}
	p := j.progress()
	var items json.RawMessage
	j.View(func() { items = list(j.items) })
	answer := struct {
		progress
		Result json.RawMessage `json:"result,omitempty"`
	}{progress: p}
	text := "The call " + p.Call + " of " + p.Function + " is " + string(p.State) + "."
	if p.Items > 0 {
		answer.Result = items
		text += " It had given:\n" + reply.Shorten(string(items))
	}
	if p.Tail != "" {
		text += "\nIt had printed:\n" + p.Tail
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: answer}
}
