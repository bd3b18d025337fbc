package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/protocol"
)

// waitForResult waits for a call on behalf of a client, which is kept informed. It answers
// with the result, or after a while with the state of the call, which goes on.
func (s *server) waitForResult(ctx context.Context, req *mcp.CallToolRequest, j *job, wait time.Duration) *mcp.CallToolResult {
	switch {
	case task.Wait(ctx, req, j.tool.fn.Name, j, j.Done(), wait):
		return answer(ctx, s, j, req.Session)
	case ctx.Err() == nil:
		return s.handOver(ctx, req, j)
	}
	if task.Cancelled(ctx) {
		if err := j.cancel(ctx); err != nil {
			s.log.Warn("a call could not be cancelled", "call", j.id(), "error", err)
		}
	}
	return reply.Failure(&protocol.CallError{Code: protocol.CallCancelled, Message: "the call was cancelled by the client"})
}

// handOver is the answer of a tool whose call goes on. It detaches the call first, because
// the answer promises a result that outlives this server.
func (s *server) handOver(ctx context.Context, req *mcp.CallToolRequest, j *job) *mcp.CallToolResult {
	short, stop := context.WithTimeout(context.WithoutCancel(ctx), detachPatience)
	defer stop()
	err := j.pending.Detach(short)
	if j.Ended() {
		return answer(ctx, s, j, req.Session)
	}
	p := j.progress()
	p.Next = fmt.Sprintf("Use the tool %s with {\"call\": %q} to wait for its result, or %s to end it.", callResultTool, p.Call, callCancelTool)
	if err != nil {
		s.log.Warn("a call could not be detached", "call", j.id(), "error", err)
		p.Next += " The call ends soon after this MCP server does, because it could not be detached."
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: p.text()}},
		StructuredContent: p,
	}
}

// detachPatience is how long a slow connection may take to detach a call.
const detachPatience = 10 * time.Second

// text is the state as an agent reads it.
func (p progress) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has not ended after %.0f s and continues as call %s", p.Function, p.Seconds, p.Call)
	if p.Position != nil {
		fmt.Fprintf(&b, "; it is queued, %s", before(*p.Position))
	}
	b.WriteString(".")
	if p.Progress != nil {
		fmt.Fprintf(&b, " It is at %s.", p.Progress.Text())
	}
	if p.Items > 0 {
		fmt.Fprintf(&b, " It has given %d items.", p.Items)
	}
	b.WriteString("\n" + p.Next)
	if p.Tail != "" {
		b.WriteString("\nIt has printed:\n" + p.Tail)
	}
	return b.String()
}

func before(position int) string {
	switch position {
	case 0:
		return "it is the next"
	case 1:
		return "1 call goes first"
	}
	return fmt.Sprintf("%d calls go first", position)
}

// State implements [task.Running].
func (j *job) State() task.State {
	s := j.Tracker.State()
	j.View(func() {
		s.Items = len(j.items) + j.omitted
		if j.position != nil {
			s.Waiting = "queued: " + before(*j.position)
		}
		if len(j.items) > 0 {
			s.Item = string(j.items[len(j.items)-1])
		}
	})
	return s
}
