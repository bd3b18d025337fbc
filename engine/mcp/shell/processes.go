package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
)

type processArgs struct {
	ProcessID string  `json:"process_id"`
	Timeout   float64 `json:"timeout"`
	Force     bool    `json:"force"`
	Offset    *int64  `json:"offset"`
	Limit     int     `json:"limit"`
}

// find is the job of that id: one of this server's, or a process that the sandbox still
// knows, of a server that is gone.
func (s *server) find(ctx context.Context, id string) (*job, error) {
	if j := s.followed(id); j != nil {
		return j, nil
	}
	if strings.HasPrefix(id, "x-") {
		return nil, fmt.Errorf("nothing is known of the code %s any more: it belongs to a server that has ended", id)
	}
	c, err := s.get()
	if err != nil {
		return nil, err
	}
	p, err := c.Processes().Get(ctx, id)
	if protocol.CodeOf(err) == protocol.NotFound {
		return nil, fmt.Errorf("there is no process %q; list_processes lists the known ones; Seer forgets a process an hour after its end", id)
	}
	if err != nil {
		return nil, explain(err)
	}
	return s.follow(c, p), nil
}

func (s *server) waitProcess(ctx context.Context, req *mcp.CallToolRequest, a processArgs) *mcp.CallToolResult {
	j, err := s.find(ctx, a.ProcessID)
	if err != nil {
		return reply.Failure(err)
	}
	// Giving up the waiting is not giving up what is waited for.
	return s.waitForResult(ctx, req, j, s.waitOf(req, a.Timeout), false)
}

func (s *server) stopProcess(ctx context.Context, req *mcp.CallToolRequest, a processArgs) *mcp.CallToolResult {
	j, err := s.find(ctx, a.ProcessID)
	if err != nil {
		return reply.Failure(err)
	}
	if !j.Ended() {
		if a.Force && j.code == nil {
			c, err := s.get()
			if err == nil {
				err = endProcess(ctx, c, j.id, true)
			}
			if err != nil {
				return reply.Failure(explain(err))
			}
		} else if err := j.cancel(ctx); err != nil {
			return reply.Failure(explain(err))
		}
	}
	return s.waitForResult(ctx, req, j, stopGrace, false)
}

// listed is a process in the answer of list_processes.
type listed struct {
	ProcessID   string `json:"process_id"`
	Name        string `json:"name,omitempty"`
	Command     string `json:"command"`
	State       string `json:"state"`
	ExitCode    *int   `json:"exit_code,omitempty"`
	Signal      string `json:"signal,omitempty"`
	Seconds     int64  `json:"seconds"`
	OutputBytes int64  `json:"output_bytes"`
}

func (s *server) listProcesses(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) *mcp.CallToolResult {
	c, err := s.get()
	if err != nil {
		return reply.Failure(err)
	}
	all, err := c.Processes().List(ctx)
	if err != nil {
		return reply.Failure(explain(err))
	}
	list := []listed{}
	for _, p := range all {
		if seers(p) {
			continue
		}
		l := listed{ProcessID: p.ID, Name: p.Name, Command: reply.CutMiddle(commandOf(p), 400, ""), State: string(p.State), OutputBytes: p.OutputBytes}
		if p.Name == repl.Name {
			l.Command = "the interpreter of run_python"
		}
		end := time.Now().Unix()
		if p.State == protocol.ProcessExited {
			l.ExitCode, l.Signal, end = &p.ExitCode, p.Signal, p.EndedUnix
		}
		l.Seconds = end - p.StartedUnix
		list = append(list, l)
	}
	return reply.Answer(map[string]any{"processes": list})
}

// seers reports whether a process is Seer's own, which nobody has asked for: what prepares
// the sandbox runs to its end while somebody waits, and servers have names of their own.
func seers(p protocol.Process) bool {
	return p.ID == "code-server" || p.ID == "jupyter" || (p.State == protocol.ProcessExited && !p.Background)
}

// outputResult is a piece of what a process has written.
type outputResult struct {
	ProcessID string `json:"process_id"`
	Output    string `json:"output"`
	Offset    int64  `json:"offset"`
	Next      int64  `json:"next_offset"`
	More      bool   `json:"more"` // there is more by now
	State     string `json:"state"`
	ExitCode  *int   `json:"exit_code,omitempty"`
}

// maxPiece is the most that one answer has of a process's output, and of a file.
const maxPiece = reply.MaxText

func (s *server) processOutput(ctx context.Context, req *mcp.CallToolRequest, a processArgs) *mcp.CallToolResult {
	if a.Limit <= 0 {
		a.Limit = repl.MaxOutput
	}
	r, err := s.output(ctx, a.ProcessID, a.Offset, min(a.Limit, clients.TextOf(req.Session, maxPiece)))
	if err != nil {
		return reply.Failure(explain(err))
	}
	return reply.Answer(r)
}

// output is a piece from an offset on; without one, the end.
func (s *server) output(ctx context.Context, id string, offset *int64, limit int) (outputResult, error) {
	process, from := id, int64(0)
	var code *repl.Run
	if j := s.followed(id); j != nil && j.code != nil {
		code = j.code
		if process, from = code.Where(); process == "" {
			return outputResult{}, errors.New("the code " + id + " has not begun yet")
		}
	}
	c, err := s.get()
	if err != nil {
		return outputResult{}, err
	}
	p, err := c.Processes().Get(ctx, process)
	if err != nil {
		return outputResult{}, err
	}
	r := outputResult{ProcessID: id, State: string(p.State)}
	if offset != nil {
		from = max(from, *offset)
	}
	piece := &pieceWriter{limit: limit, last: offset == nil}
	var out, errs io.Writer = piece, piece
	if code != nil {
		out, errs = code.Filter(piece, from)
		r.State = code.State()
	}
	r.Next, _, err = c.Processes().Output(ctx, process, from, false, out, errs)
	if err != nil && !errors.Is(err, repl.ErrEnough) {
		return outputResult{}, err
	}
	if code == nil && p.State == protocol.ProcessExited {
		r.ExitCode = &p.ExitCode
	}
	r.Offset, r.Output, r.More = from, plain(piece.String()), errors.Is(err, repl.ErrEnough)
	if piece.dropped > 0 {
		r.Output = fmt.Sprintf("[cut by Seer: %d bytes before this; offset 0 begins with the first]\n", piece.dropped) + r.Output
	}
	return r, nil
}

// pieceWriter takes at least one record and stops before it has more than its limit; or
// goes on and keeps the last.
type pieceWriter struct {
	bytes.Buffer
	limit   int
	last    bool
	dropped int
}

func (w *pieceWriter) Write(data []byte) (int, error) {
	if w.last {
		n := len(data)
		if over := n - w.limit; over > 0 {
			w.dropped, data = w.dropped+over, data[over:]
		}
		if over := w.Len() + len(data) - w.limit; over > 0 {
			w.dropped += over
			w.Next(over)
		}
		w.Buffer.Write(data)
		return n, nil
	}
	if w.Len() > 0 && w.Len()+len(data) > w.limit {
		return 0, repl.ErrEnough
	}
	return w.Buffer.Write(data)
}
