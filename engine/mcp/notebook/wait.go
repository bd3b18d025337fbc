package notebook

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/mcp/internal/term"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// ran is what has come of a cell.
type ran struct {
	SessionID   string                  `json:"session_id"`
	CellID      string                  `json:"cell_id,omitempty"`
	CellIndex   *int                    `json:"cell_index,omitempty"`
	ExecutionID string                  `json:"execution_id"`
	State       notebook.ExecutionState `json:"state"`
	Count       *int                    `json:"execution_count"`
	Position    int                     `json:"position,omitempty"` // in the queue
	Seconds     float64                 `json:"seconds"`
	Progress    *term.Bar               `json:"progress,omitempty"`
	Outputs     []shown                 `json:"outputs"`
	Restored    *restored               `json:"restored,omitempty"`
	Saved       string                  `json:"saved_to,omitempty"`
	Warning     string                  `json:"warning,omitempty"`
	Next        string                  `json:"next,omitempty"` // what an agent can do now
}

// waitOf is how long a tool may wait: as long as was asked for, and not longer than the
// client does.
func (s *server) waitOf(req *mcp.CallToolRequest, timeout *float64) time.Duration {
	most := clients.WaitOf(req.Session, s.opts.Wait)
	if timeout == nil || *timeout < 0 || *timeout > most.Seconds() {
		return most
	}
	return time.Duration(*timeout * float64(time.Second))
}

// waitForResult waits for an execution on behalf of the client that has begun it. When the
// client cancels its request, the cell is interrupted.
func (s *server) waitForResult(ctx context.Context, req *mcp.CallToolRequest, j *job, timeout *float64) *mcp.CallToolResult {
	r := s.waitForOther(ctx, req, j, timeout)
	// A client that has vanished is a fault of the connection: its cells go on.
	if !task.Cancelled(ctx) || j.Ended() {
		return r
	}
	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	if err := s.client.Cancel(patience, j.id); err != nil {
		s.log.Warn("a cell could not be interrupted", "execution", j.id, "error", err)
	}
	return reply.Problem("the request was cancelled by the client, and the cell interrupted")
}

// waitForOther waits for an execution: giving up the waiting is not giving up the cell.
func (s *server) waitForOther(ctx context.Context, req *mcp.CallToolRequest, j *job, timeout *float64) *mcp.CallToolResult {
	task.Wait(ctx, req, "cell", j, j.Done(), s.waitOf(req, timeout))
	return clients.Fit(s.result(ctx, j, clients.TextOf(req.Session, maxText)), req.Session)
}

// result is what has come of an execution so far, with as much text as limit.
func (s *server) result(ctx context.Context, j *job, limit int) *mcp.CallToolResult {
	var (
		exec    notebook.Execution
		err     error
		answer  ran
		images  []mcp.Content
		restore bool
	)
	j.View(func() {
		exec, err, restore = j.exec, j.err, j.restore
		answer = ran{SessionID: j.session, ExecutionID: j.id, State: exec.State, Count: exec.ExecutionCount, Position: exec.Position, Progress: j.Screen.Bar()}
		answer.Outputs, images = j.outputs.show(limit, 1)
		answer.Seconds = elapsed(exec, j.Elapsed())
	})
	if j.cell != nil {
		answer.CellID = j.cell.ID
		if j.cell.Index >= 0 {
			answer.CellIndex = &j.cell.Index
		}
	}
	answer.Saved, answer.Warning = s.mirrors.save(ctx, j.session)
	if err != nil {
		return broken(answer, err)
	}
	switch exec.State {
	case notebook.Queued, notebook.Running:
		answer.Next = fmt.Sprintf("The cell continues. wait_execution with {\"execution_id\": %q} waits for it; interrupt ends it.", j.id)
	case notebook.Failed:
		answer.Next = missing(exec.Error)
	case notebook.Dead:
		return died(ctx, s.client, answer)
	case notebook.Dropped:
		return broken(answer, protocol.Errorf(protocol.Conflict, "the cell never ran: it was queued when the session was interrupted, restarted or its kernel died; run it again with edit_cell or execute_code"))
	}
	if answer.Progress != nil && exec.State.Over() {
		answer.Progress = nil
	}
	if restore {
		answer.Restored = s.restored(ctx, j)
	}
	more := images
	if exec.Cut || exec.TextBytes > int64(limit) {
		more = append(more, &mcp.ResourceLink{URI: resourceURI(j.id), Name: "output", Title: "The whole text output", MIMEType: textType, Size: &exec.TextBytes})
	}
	return reply.Answer(answer, more...)
}

// missing says how to get a module that a cell has not found; "" where that was not it.
func missing(e *notebook.Raised) string {
	if e == nil {
		return ""
	}
	return reply.MissingPackage(e.EName, e.EValue, "`%pip install`")
}

// elapsed is how long a cell has run, in seconds; followed is how long it is known here.
func elapsed(e notebook.Execution, followed time.Duration) float64 {
	seconds := followed.Seconds()
	if e.State.Over() && e.Started > 0 && e.Ended >= e.Started {
		seconds = e.Ended - e.Started
	}
	return float64(int64(seconds*1000)) / 1000
}

// died is the answer where the kernel has died under the cell.
func died(ctx context.Context, c *notebook.Client, answer ran) *mcp.CallToolResult {
	why := "the kernel died while the cell ran"
	if n, err := c.Session(ctx, answer.SessionID); err == nil && n.Message != "" {
		why += ": " + n.Message
	}
	return broken(answer, protocol.Errorf(protocol.Failed, "%s. Its variables are gone; the tool restart gives the notebook a new kernel, and its cells stay", why))
}

// broken is a tool error that has what the cell had put out.
func broken(answer ran, err error) *mcp.CallToolResult {
	r := reply.Problem(told{err}.Error())
	answer.Next = ""
	if told := reply.Answer(answer); len(answer.Outputs) > 0 && len(told.Content) > 0 {
		r.Content = append(r.Content, told.Content...)
	}
	return r
}
