package notebook

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/notebook"
)

// restored is how a notebook was taken up again.
type restored struct {
	Cells  int           `json:"cells"` // that have run
	Errors []cellFailure `json:"errors"`
}

type cellFailure struct {
	Index  int    `json:"cell_index"`
	ID     string `json:"cell_id"`
	EName  string `json:"ename"`
	EValue string `json:"evalue"`
}

func (s *server) restorer(tool string, mode notebook.Mode) func(context.Context, *mcp.CallToolRequest, startArguments) *mcp.CallToolResult {
	return func(ctx context.Context, req *mcp.CallToolRequest, in startArguments) *mcp.CallToolResult {
		if in.Path == "" {
			return badArgument(tool, "notebook_path is missing: the notebook's path in the sandbox")
		}
		n, exec, err := startSession(ctx, s.client, req, notebook.NewSession{Mode: mode, Path: in.Path, Name: in.Name})
		if err != nil {
			return refusal(err)
		}
		if exec == nil {
			return s.entered(ctx, req, n)
		}
		s.use(req, n.ID)
		return s.restoring(ctx, req, n, *exec)
	}
}

func startSession(ctx context.Context, c *notebook.Client, req *mcp.CallToolRequest, n notebook.NewSession) (notebook.Session, *notebook.Execution, error) {
	stop := task.Report(ctx, req, "session", task.Silent{})
	defer stop()
	return c.StartSession(ctx, n)
}

// restoring waits for the cells of a notebook that is taken up again.
func (s *server) restoring(ctx context.Context, req *mcp.CallToolRequest, n notebook.Session, exec notebook.Execution) *mcp.CallToolResult {
	j := s.follow(exec, nil)
	j.Update(func() { j.restore = true })
	if r := s.waitForResult(ctx, req, j, nil); r.IsError {
		return r
	}
	answer := restoring{session: describeSession(n), Exec: j.id}
	if now, err := s.client.Session(ctx, n.ID); err == nil {
		answer.session = describeSession(now)
	}
	answer.URL = s.page()
	answer.Saved, answer.Warning = s.mirrors.save(ctx, n.ID)
	if j.Ended() {
		answer.Restored = s.restored(ctx, j)
	} else {
		answer.Next = fmt.Sprintf("The cells of the notebook still run. wait_execution with {\"execution_id\": %q} waits for them.", j.id)
	}
	return reply.Answer(answer)
}

// restored looks which cells have failed.
func (s *server) restored(ctx context.Context, j *job) *restored {
	all, err := s.client.Cells(ctx, j.session, notebook.CellRange{})
	if err != nil {
		s.log.Warn("the cells of a notebook could not be read", "session", j.session, "error", err)
		return nil
	}
	r := &restored{Errors: []cellFailure{}}
	for _, c := range all.Cells {
		if c.Type != "code" || c.ExecutionCount == nil {
			continue
		}
		r.Cells++
		for _, o := range c.Outputs {
			if o.Type == "error" {
				r.Errors = append(r.Errors, cellFailure{Index: c.Index, ID: c.ID, EName: o.EName, EValue: reply.Cut(o.EValue, 1000)})
			}
		}
	}
	return r
}
