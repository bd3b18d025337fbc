package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/repl"
)

type pythonArgs struct {
	Code       string  `json:"code"`
	Timeout    float64 `json:"timeout"`
	EndAfter   float64 `json:"end_after"`
	Restart    bool    `json:"restart"`
	Background bool    `json:"background"`
}

func (s *server) python() repl.Python {
	return repl.Python{Python: s.opts.Python, Workdir: s.opts.Workdir}
}

func (s *server) runPython(ctx context.Context, req *mcp.CallToolRequest, a pythonArgs) *mcp.CallToolResult {
	switch {
	case a.Code == "" && !a.Restart:
		return reply.BadArguments("run_python", errors.New("the code is empty"))
	case a.Timeout < 0 || a.EndAfter < 0:
		return reply.BadArguments("run_python", errNegative)
	}
	c, err := s.get()
	if err != nil {
		return reply.Failure(err)
	}
	j := newJob(newID("x-"), "run_python", time.Now())
	j.code = repl.NewRun(j.id)
	started := make(chan repl.Interpreter, 1)
	j.cancel = func(ctx context.Context) error {
		select {
		case i := <-started:
			started <- i
			return interrupt(ctx, c, i, j)
		case <-j.Done():
			return nil
		case <-ctx.Done():
			return errors.New("the interpreter is still being started")
		}
	}
	j.result = (*job).codeRun
	s.jobs.Put(j.id, j)
	s.wg.Go(func() {
		images, err := s.execute(c, j, a, started)
		j.End(func() { j.images, j.err = images, err })
		s.jobs.Ended(j.id)
	})
	if a.Background {
		return j.answer(clients.TextOf(req.Session, allText))
	}
	return s.waitForResult(ctx, req, j, s.waitOf(req, a.Timeout), true)
}

// execute runs code to its end and gives its images.
func (s *server) execute(c *client.Client, j *job, a pythonArgs, started chan<- repl.Interpreter) ([]mcp.Content, error) {
	ctx, run := s.ctx, j.code
	i, why, err := repl.Ensure(ctx, c, s.python(), a.Restart)
	if err != nil {
		return nil, err
	}
	other := s.lastX.changed(i.Nonce)
	switch {
	case why != "":
		run.Note = "The interpreter was started again, " + why + ". The variables of before are gone; the set-up has run again."
	case other:
		run.Note = "The interpreter was started again since it was last used here: by another client, or because its sandbox has lost it. The variables of before are gone."
	}
	now, err := c.Processes().Get(ctx, i.Process.ID)
	if err != nil {
		return nil, err
	}
	follow, stop := context.WithCancel(ctx)
	defer stop()
	j.drop = stop
	run.Set(func() { run.Process, run.Nonce, run.From = i.Process.ID, i.Nonce, now.OutputBytes })
	if a.Code == "" {
		run.Set(func() { run.Status = repl.OK })
		return nil, nil
	}
	if err := i.Submit(ctx, c, j.id, a.Code); err != nil {
		return nil, err
	}
	started <- i // from now on it can be interrupted
	if a.EndAfter > 0 {
		timer := time.AfterFunc(time.Duration(a.EndAfter*float64(time.Second)), func() {
			run.Set(func() { run.TimedOut = true })
			if err := interrupt(ctx, c, i, j); err != nil {
				s.log.Warn("code could not be interrupted", "id", j.id, "error", err)
			}
		})
		defer timer.Stop()
	}
	out, errs := run.Readers(jobWriter{j, &j.stdout}, jobWriter{j, &j.stderr})
	_, end, err := c.Processes().Output(follow, i.Process.ID, now.OutputBytes, true, out, errs)
	switch {
	case end != nil:
		run.Set(func() { run.Status, run.Dead = repl.Died, end })
		return nil, nil
	case errors.Is(err, repl.ErrEnough):
		return s.pictures(ctx, c, i, run), nil
	case run.State() == repl.Interrupted:
		return nil, nil
	}
	return nil, lost(err)
}

// pictures are the images of code as content.
func (s *server) pictures(ctx context.Context, c *client.Client, i repl.Interpreter, run *repl.Run) []mcp.Content {
	data, err := i.Fetch(ctx, c, run.Images)
	if err != nil {
		s.log.Warn("an image could not be fetched", "error", err)
	}
	var content []mcp.Content
	for n, image := range data {
		if len(image) == 0 {
			content = append(content, &mcp.TextContent{Text: fmt.Sprintf("[image %d is larger than %d bytes and is not shown]", n+1, reply.MaxImage)})
			continue
		}
		content = append(content, &mcp.ImageContent{Data: image, MIMEType: run.Images[n].MIME})
	}
	return content
}

// codeResult is the answer about a piece of code.
type codeResult struct {
	State     string     `json:"state"` // queued, running, ok, error, interrupted or died
	Stdout    string     `json:"stdout"`
	Stderr    string     `json:"stderr"`
	Result    *string    `json:"result,omitempty"` // repr of the last expression
	Error     *codeFault `json:"error,omitempty"`
	Images    int        `json:"images,omitempty"` // that stand behind this text
	TimedOut  bool       `json:"timed_out"`
	Duration  float64    `json:"duration"` // seconds
	ProcessID string     `json:"process_id"`
	Note      string     `json:"note,omitempty"`
	Next      string     `json:"next,omitempty"`
}

type codeFault struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
}

// codeRun is the result of code.
func (j *job) codeRun(room int) *mcp.CallToolResult {
	if j.err != nil {
		return reply.Failure(explain(j.err))
	}
	run := j.code
	defer run.Hold()()
	whole := wholeOf(j.id)
	parts := share(room, &j.stdout, &j.stderr, &run.Result, &run.Message, &run.Trace)
	r := codeResult{State: run.Status, Stdout: clipText(&j.stdout, parts[0], whole), Stderr: clipText(&j.stderr, parts[1], whole), TimedOut: run.TimedOut, Duration: j.seconds(), ProcessID: j.id, Note: run.Note}
	if run.Has["result"] {
		text := clipText(&run.Result, parts[2], whole)
		r.Result = &text
	}
	if run.Has["error"] {
		r.Error = &codeFault{Type: run.Raised, Message: clipText(&run.Message, parts[3], ""), Traceback: clipText(&run.Trace, parts[4], whole)}
		r.Next = reply.MissingPackage(run.Raised, r.Error.Message, "`pip install` in run_command")
	}
	if !j.Ended() {
		r.Next = "It continues. wait_process waits for its end, stop_process interrupts it; the variables stay."
		return reply.Answer(r)
	}
	r.Images = len(j.images)
	if run.Dead == nil {
		return reply.Answer(r, j.images...)
	}
	lost := "The interpreter has ended while the code ran: " + repl.Fate(*run.Dead) + ". All variables are gone; the next run_python starts a new one."
	if run.TimedOut {
		lost = "The code did not end when it was interrupted after its time (end_after), so its interpreter was killed. All variables are gone; the next run_python starts a new one."
	}
	r.Note = strings.TrimSpace(r.Note + " " + lost)
	answer := reply.Answer(r)
	answer.IsError = true
	return answer
}
