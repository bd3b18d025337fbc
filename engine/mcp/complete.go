package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCompletions is what MCP allows in one answer.
const maxCompletions = 100

// complete offers the ids of the handles and calls that are known, the newest first.
func (s *server) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var ids []string
	ref := req.Params.Ref
	if ref != nil && ref.Type == "ref/resource" && req.Params.Argument.Name == "id" {
		switch {
		case strings.HasPrefix(ref.URI, handlesURI):
			ids = s.seen.list()
		case strings.HasPrefix(ref.URI, callsURI):
			ids = s.calls.list()
		}
	}
	values := []string{}
	for _, id := range slices.Backward(ids) {
		if strings.HasPrefix(id, req.Params.Argument.Value) {
			values = append(values, id)
		}
	}
	details := mcp.CompletionResultDetails{Total: len(values), HasMore: len(values) > maxCompletions}
	details.Values = values[:min(len(values), maxCompletions)]
	return &mcp.CompleteResult{Completion: details}, nil
}

func (s *seen) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ids)
}

func (c *calls) list() []string {
	var ids []string
	for _, j := range c.jobs.All() {
		ids = append(ids, j.id())
	}
	slices.Sort(ids)
	return ids
}
