package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/arguments"
	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/sdk"
)

// Names of Seer's own tools. They cannot be those of functions, which have no hyphens.
const (
	handleTool     = "handle-read"
	callResultTool = "call-result"
	callCancelTool = "call-cancel"
)

const handleToolDoc = `Reads a value that stayed in the sandbox. With only the handle, it returns its shape, statistics and a preview. ` +
	`Otherwise the sandbox applies index, then reduce, then topk or head. A large result is another handle.`

const handleToolSchema = `{
 "type": "object",
 "properties": {
  "handle": {"type": "string", "description": "the id: h-…"},
  "index": {"type": "string", "description": "as NumPy writes it: \"0:10\", \"..., 0\", \"[1, 5], ::2\"; the name of a column or key"},
  "reduce": {"enum": ["sum", "mean", "std", "var", "min", "max", "argmin", "argmax", "norm", "any", "all", "median"]},
  "axis": {"type": "integer", "description": "of reduce; without it, all"},
  "keepdims": {"type": "boolean"},
  "topk": {"type": "integer", "minimum": 1, "description": "the largest values along the last axis, and where they are"},
  "head": {"type": "integer", "minimum": 1, "description": "the first rows or items"},
  "keep": {"type": "boolean", "description": "leave what comes out in the sandbox, as another handle"}
 },
 "required": ["handle"],
 "additionalProperties": false
}`

// look is what handle-read is asked for.
type look struct {
	Handle   reference `json:"handle"`
	Index    *string   `json:"index"`
	Reduce   string    `json:"reduce"`
	Axis     *int      `json:"axis"`
	KeepDims bool      `json:"keepdims"`
	TopK     int       `json:"topk"`
	Head     int       `json:"head"`
	Keep     bool      `json:"keep"`
}

// reference is the id of a handle, also as models write it when they copy an answer.
type reference string

func (r *reference) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*r = reference(text)
		return nil
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	id, _ := object["id"].(string)
	if id == "" {
		id = referenced(object)
	}
	*r = reference(id)
	return nil
}

// steps are those of docs/protocol.md, 8.
func (l look) steps() ([]any, error) {
	var steps []any
	if l.Index != nil {
		key, err := parseIndex(*l.Index)
		if err != nil {
			return nil, err
		}
		steps = append(steps, []any{"index", key})
	}
	if l.Reduce != "" {
		how := map[string]any{}
		if l.Axis != nil {
			how["axis"] = *l.Axis
		}
		if l.KeepDims {
			how["keepdims"] = true
		}
		steps = append(steps, []any{"reduce", l.Reduce, how})
	} else if l.Axis != nil {
		return nil, errors.New("axis goes with reduce")
	}
	if l.TopK > 0 {
		steps = append(steps, []any{"topk", l.TopK})
	}
	if l.Head > 0 {
		steps = append(steps, []any{"head", l.Head})
	}
	return steps, nil
}

func (s *server) addHandleTool() {
	no := false
	s.mcp.AddTool(&mcp.Tool{
		Name: handleTool, Title: "Look into a large result", Description: handleToolDoc, InputSchema: json.RawMessage(handleToolSchema),
		Annotations: &mcp.ToolAnnotations{Title: "Look into a large result", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.look(ctx, req), nil
	})
}

func (s *server) look(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolResult {
	var l look
	if err := arguments.Strict(json.RawMessage(handleToolSchema), req.Params.Arguments, &l); err != nil {
		return reply.BadArguments(handleTool, err)
	}
	id := string(l.Handle)
	if !handleID().MatchString(id) {
		return reply.BadArguments(handleTool, fmt.Errorf("handle must be the id of a handle, h-…, not %q", reply.Cut(id, 80)))
	}
	steps, err := l.steps()
	if err != nil {
		return reply.BadArguments(handleTool, err)
	}
	fn := handleGet
	switch {
	case l.Keep:
		fn = handleMake
	case len(steps) == 0:
		return clients.Fit(s.info(ctx, id), req.Session)
	}
	// As any call: it may be cancelled, and be queued where it is long.
	j, err := s.ask(req, fn, append([]any{id}, steps...))
	if err != nil {
		return reply.Failure(err)
	}
	r := s.waitForResult(ctx, req, j, clients.WaitOf(req.Session, s.opts.Wait))
	if j.Ended() {
		s.gone(id, j.err)
	}
	return r
}

// ask begins a call of one of the functions that every service has.
func (s *server) ask(req *mcp.CallToolRequest, fn string, args []any) (*job, error) {
	data, err := json.Marshal(map[string]any{"args": args, "kwargs": map[string]any{}})
	if err != nil {
		return nil, err
	}
	return s.begin(&tool{fn: sdk.Function{Name: fn}}, &client.Body{Data: data}, s.clientOf(req.Session))
}

// info tells what a handle is.
func (s *server) info(ctx context.Context, id string) *mcp.CallToolResult {
	h, raw, err := s.describe(ctx, id)
	if err != nil {
		return reply.Failure(err)
	}
	return s.handleResult(ctx, h, raw)
}

// describe asks for a handle: what it is, and the same as {"handle": …}.
func (s *server) describe(ctx context.Context, id string) (*handle, json.RawMessage, error) {
	body, err := s.link.ask(ctx, handleInfo, nil, id)
	if err != nil {
		s.gone(id, err)
		return nil, nil, err
	}
	v, err := show(body)
	if err != nil {
		return nil, nil, err
	}
	if v.whole != nil {
		return v.whole, v.json, nil
	}
	var h handle
	if err := json.Unmarshal(v.json, &h); err != nil || h.ID == "" {
		return nil, nil, fmt.Errorf("the sandbox did not describe the handle %s", id)
	}
	raw, err := json.Marshal(map[string]json.RawMessage{handleKey: v.json})
	return &h, raw, err
}
