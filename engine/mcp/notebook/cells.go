package notebook

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

type (
	executeArguments struct {
		Session    string   `json:"session_id"`
		Code       string   `json:"code"`
		Timeout    *float64 `json:"timeout"`
		Background bool     `json:"background"`
	}
	waitArguments struct {
		Execution string   `json:"execution_id"`
		Timeout   *float64 `json:"timeout"`
	}
	markdownArguments struct {
		Session string `json:"session_id"`
		Content string `json:"content"`
		Index   *int   `json:"index"`
	}
	editArguments struct {
		Session string   `json:"session_id"`
		Cell    cellRef  `json:"cell"`
		Code    string   `json:"code"`
		Run     *bool    `json:"run"`
		Timeout *float64 `json:"timeout"`
	}
	insertArguments struct {
		Session string `json:"session_id"`
		Source  string `json:"source"`
		Index   *int   `json:"index"`
		Type    string `json:"type"`
		Run     bool   `json:"run"`
	}
	cellArguments struct {
		Session string  `json:"session_id"`
		Cell    cellRef `json:"cell"`
		Index   *int    `json:"index"`
	}
)

func (s *server) addCellTools() {
	add(s, &mcp.Tool{
		Name: "execute_code", Title: "Run a cell", OutputSchema: answers[ran](), Annotations: runs(),
		InputSchema: schema(props{
			"code": text("Python; the value of the last expression is shown, plots are shown as images. !command and %magic work"), "session_id": sessionArgument(), "timeout": timeoutArgument(),
			"background": flag("answer at once; wait_execution waits for the cell", false)}, "code"),
		Description: "Adds a code cell at the end of the notebook, runs it and returns its outputs. Later cells see its variables. An exception is an output of type error. A cell that takes longer than the timeout continues: the answer has state running and an execution_id for wait_execution.",
	}, s.execute)
	add(s, &mcp.Tool{
		Name: "wait_execution", Title: "Wait for a cell", OutputSchema: answers[ran](), Annotations: reads(),
		InputSchema: schema(props{"execution_id": text("as execute_code has answered"), "timeout": timeoutArgument()}, "execution_id"),
		Description: "Waits for a cell that runs longer than its tool waited, and returns its outputs so far: state done, error, interrupted, or again running. Can be called as often as needed.",
	}, s.waitFor)
	add(s, &mcp.Tool{
		Name: "add_markdown", Title: "Add text", OutputSchema: answers[changed](), Annotations: adds(),
		InputSchema: schema(props{"content": text("Markdown"), "session_id": sessionArgument(), "index": whole("place among all cells; default: at the end")}, "content"),
		Description: "Adds a Markdown cell: headings, hypotheses, findings for the readers of the notebook.",
	}, func(ctx context.Context, req *mcp.CallToolRequest, in markdownArguments) *mcp.CallToolResult {
		return s.insert(ctx, req, insertArguments{Session: in.Session, Source: in.Content, Index: in.Index, Type: "markdown"})
	})
	add(s, &mcp.Tool{
		Name: "edit_cell", Title: "Edit a cell", OutputSchema: answers[ran](), Annotations: runs(),
		InputSchema: schema(props{"code": text("the new content of the whole cell"), "cell": cellArgument("the cell; default: the last code cell"),
			"run": flag("run it, if it is code", true), "session_id": sessionArgument(), "timeout": timeoutArgument()}, "code"),
		Description: "Replaces the content of a cell and runs it again, as execute_code does. Use it to correct a cell instead of adding another.",
	}, s.edit)
	s.addMoveTools()
	s.addReadTools()
}

func (s *server) addMoveTools() {
	add(s, &mcp.Tool{
		Name: "insert_cell", Title: "Insert a cell", OutputSchema: answers[ran](), Annotations: runs(),
		InputSchema: schema(props{"source": text("the cell's content"), "index": whole("place among all cells; default: at the end"),
			"type": choice("kind of cell", "code", "markdown", "raw"), "run": flag("run it", false), "session_id": sessionArgument()}, "source"),
		Description: "Inserts a cell anywhere, without running it unless run is true.",
	}, s.insert)
	add(s, &mcp.Tool{
		Name: "delete_cell", Title: "Delete a cell", OutputSchema: answers[changed](), Annotations: ends(),
		InputSchema: schema(props{"cell": cellArgument("the cell"), "session_id": sessionArgument()}, "cell"),
		Description: "Deletes a cell from the notebook. Its effects on variables stay.",
	}, s.remove)
	add(s, &mcp.Tool{
		Name: "move_cell", Title: "Move a cell", OutputSchema: answers[changed](), Annotations: adds(),
		InputSchema: schema(props{"cell": cellArgument("the cell"), "index": whole("its new place among all cells"), "session_id": sessionArgument()}, "cell", "index"),
		Description: "Moves a cell to another place in the notebook.",
	}, s.move)
}

// execute runs a cell. As the other tools that may run one, it lets the request through
// although it is cancelled: only what is known to run can be interrupted.
func (s *server) execute(ctx context.Context, req *mcp.CallToolRequest, in executeArguments) *mcp.CallToolResult {
	id, problem := s.choose(ctx, req, in.Session)
	if problem != nil {
		return problem
	}
	run, err := s.client.AddCell(context.WithoutCancel(ctx), id, notebook.NewCell{Type: "code", Source: in.Code, Run: true})
	if err != nil {
		return s.failure(err, req, id)
	}
	if in.Background {
		in.Timeout = new(float64)
	}
	return s.ran(ctx, req, id, run, in.Timeout)
}

// ran waits for what a request has begun, if it has.
func (s *server) ran(ctx context.Context, req *mcp.CallToolRequest, id string, run notebook.Run, timeout *float64) *mcp.CallToolResult {
	s.use(req, id)
	if run.Execution == nil {
		answer := changed{SessionID: id}
		if run.Cell != nil {
			answer.CellID, answer.CellIndex = run.Cell.ID, &run.Cell.Index
		}
		answer.Saved, answer.Warning = s.mirrors.save(ctx, id)
		return reply.Answer(answer)
	}
	return s.waitForResult(ctx, req, s.follow(*run.Execution, run.Cell), timeout)
}

// changed is the answer of a tool that changes the notebook and runs nothing.
type changed struct {
	SessionID string `json:"session_id"`
	CellID    string `json:"cell_id,omitempty"`
	CellIndex *int   `json:"cell_index,omitempty"`
	Saved     string `json:"saved_to,omitempty"`
	Warning   string `json:"warning,omitempty"`
}

func (s *server) waitFor(ctx context.Context, req *mcp.CallToolRequest, in waitArguments) *mcp.CallToolResult {
	if in.Execution == "" {
		return badArgument("wait_execution", "execution_id is missing; execute_code has answered it")
	}
	j, err := s.find(ctx, in.Execution)
	if err != nil {
		return refusal(err)
	}
	return s.waitForOther(ctx, req, j, in.Timeout)
}

func (s *server) edit(ctx context.Context, req *mcp.CallToolRequest, in editArguments) *mcp.CallToolResult {
	id, problem := s.choose(ctx, req, in.Session)
	if problem != nil {
		return problem
	}
	if in.Cell == "" {
		last, err := lastCode(ctx, s.client, id)
		if err != nil {
			return s.failure(err, req, id)
		}
		in.Cell = cellRef(last)
	}
	run, err := s.client.EditCell(context.WithoutCancel(ctx), id, string(in.Cell), notebook.CellEdit{Source: &in.Code, Run: in.Run == nil || *in.Run})
	if err != nil {
		return s.failure(err, req, id)
	}
	return s.ran(ctx, req, id, run, in.Timeout)
}

// lastCode is the id of the last code cell.
func lastCode(ctx context.Context, c *notebook.Client, id string) (string, error) {
	all, err := c.Cells(ctx, id, notebook.CellRange{Outputs: notebook.NoOutputs})
	if err != nil {
		return "", err
	}
	for i := len(all.Cells) - 1; i >= 0; i-- {
		if all.Cells[i].Type == "code" {
			return all.Cells[i].ID, nil
		}
	}
	return "", protocol.Errorf(protocol.NotFound, "the notebook has no code cell yet; use execute_code")
}

func (s *server) insert(ctx context.Context, req *mcp.CallToolRequest, in insertArguments) *mcp.CallToolResult {
	if in.Type == "" {
		in.Type = "code"
	}
	if !oneOf(in.Type, "code", "markdown", "raw") {
		return badArgument("insert_cell", fmt.Sprintf("type is %q; it can be code, markdown or raw", in.Type))
	}
	id, problem := s.choose(ctx, req, in.Session)
	if problem != nil {
		return problem
	}
	run, err := s.client.AddCell(context.WithoutCancel(ctx), id, notebook.NewCell{Type: in.Type, Source: in.Source, Index: in.Index, Run: in.Run && in.Type == "code"})
	if err != nil {
		return s.failure(err, req, id)
	}
	return s.ran(ctx, req, id, run, nil)
}

func (s *server) remove(ctx context.Context, req *mcp.CallToolRequest, in cellArguments) *mcp.CallToolResult {
	return s.onCell(ctx, req, "delete_cell", in, func(id string) error { return s.client.DeleteCell(ctx, id, string(in.Cell)) })
}

func (s *server) move(ctx context.Context, req *mcp.CallToolRequest, in cellArguments) *mcp.CallToolResult {
	if in.Index == nil {
		return badArgument("move_cell", "index is missing: the cell's new place")
	}
	return s.onCell(ctx, req, "move_cell", in, func(id string) error { return s.client.MoveCell(ctx, id, string(in.Cell), *in.Index) })
}

func (s *server) onCell(ctx context.Context, req *mcp.CallToolRequest, tool string, in cellArguments, f func(session string) error) *mcp.CallToolResult {
	if in.Cell == "" {
		return badArgument(tool, "cell is missing: a cell's id or index")
	}
	id, problem := s.choose(ctx, req, in.Session)
	if problem != nil {
		return problem
	}
	if err := f(id); err != nil {
		return s.failure(err, req, id)
	}
	return s.ran(ctx, req, id, notebook.Run{Cell: nil}, nil)
}
