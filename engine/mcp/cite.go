package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/clients"
)

// MetaCall is the key in _meta of a result under which programs find the ID of its call, with
// [Options.CallIDs].
const MetaCall = "seer-engine.github.io/call"

const citing = "The result of each function ends with [call:ID], the ID of its call. Write it behind what you report, as it stands, to cite the call."

// answer is the result of a call that has ended, as the client of a session shows it.
func answer(ctx context.Context, s *server, j *job, session *mcp.ServerSession) *mcp.CallToolResult {
	r := s.result(ctx, j)
	if s.opts.CallIDs && !strings.HasPrefix(j.tool.fn.Name, "$") {
		cite(r, j.id(), session)
	}
	return clients.Fit(r, session)
}

// cite adds the ID of the call to its result.
func cite(r *mcp.CallToolResult, id string, session *mcp.ServerSession) {
	r.Content = append(r.Content, &mcp.TextContent{Text: "[call:" + id + "]"})
	if r.Meta == nil {
		r.Meta = mcp.Meta{}
	}
	r.Meta[MetaCall] = id
	if clients.HabitsOf(session).Structured { // its model would not see the ID
		r.StructuredContent = nil
	}
}

// withoutOutputs leaves out the output schemas for clients that get no structured content: they
// would refuse a result without it.
func withoutOutputs(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListToolsResult)
		session, of := req.GetSession().(*mcp.ServerSession)
		if err != nil || !ok || !of || !clients.HabitsOf(session).Structured {
			return result, err
		}
		for i, t := range list.Tools {
			plain := *t // the server keeps its own
			plain.OutputSchema = nil
			list.Tools[i] = &plain
		}
		return list, nil
	}
}
