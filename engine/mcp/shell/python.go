package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/front"
	"github.com/seer-engine/seer/engine/protocol"
)

// maxImages is how many images of one piece of code are shown.
const maxImages = 20

type pythonArgs struct {
	Code       string  `json:"code"`
	Timeout    float64 `json:"timeout"`
	Restart    bool    `json:"restart"`
	Background bool    `json:"background"`
}

func (s *server) python() Python { return Python{Python: s.opts.Python, Workdir: s.opts.Workdir} }

func (s *server) runPython(ctx context.Context, req *mcp.CallToolRequest, a pythonArgs) *mcp.CallToolResult {
	switch {
	case a.Code == "" && !a.Restart:
		return front.BadArguments("run_python", errors.New("the code is empty"))
	case a.Timeout < 0:
		return front.BadArguments("run_python", errors.New("timeout is a number of seconds above 0"))
	}
	c, err := s.get()
	if err != nil {
		return front.Failure(err)
	}
	t := newTask(newID("x-"), "run_python")
	t.code = newCodeRun(t.id)
	started := make(chan interpreter, 1)
	t.cancel = func(ctx context.Context) error {
		select {
		case i := <-started:
			started <- i
			return i.interrupt(ctx, c, t)
		case <-t.done:
			return nil
		case <-ctx.Done():
			return errors.New("the interpreter is still being started")
		}
	}
	t.answer = codeAnswer
	s.tasks.add(t)
	s.wg.Go(func() {
		images, err := s.execute(c, t, a, started)
		t.over(func() { t.images, t.err = images, err })
	})
	if a.Background {
		return t.answer(t)
	}
	return s.attend(ctx, req, t, front.WaitOf(req.Session, s.opts.Wait), true)
}

// execute runs code to its end and gives its images.
func (s *server) execute(c *protocol.Client, t *task, a pythonArgs, started chan<- interpreter) ([]mcp.Content, error) {
	ctx, run := s.ctx, t.code
	i, why, err := ensure(ctx, c, s.python(), a.Restart)
	if err != nil {
		return nil, err
	}
	other := s.lastX.changed(i.nonce)
	switch {
	case why != "":
		run.note = "The interpreter was started again, " + why + ". The variables of before are gone; the set-up has run again."
	case other:
		run.note = "The interpreter was started again since it was last used here: by another client, or because its sandbox has lost it. The variables of before are gone."
	}
	now, err := c.Process(ctx, i.process.ID)
	if err != nil {
		return nil, err
	}
	follow, stop := context.WithCancel(ctx)
	defer stop()
	t.drop = stop
	run.set(func() { run.process, run.nonce, run.from = i.process.ID, i.nonce, now.OutputBytes })
	if a.Code == "" {
		run.set(func() { run.status = codeOK })
		return nil, nil
	}
	if err := i.submit(ctx, c, t.id, a.Code); err != nil {
		return nil, err
	}
	started <- i // from now on it can be interrupted
	if a.Timeout > 0 {
		timer := time.AfterFunc(time.Duration(a.Timeout*float64(time.Second)), func() {
			run.set(func() { run.timedOut = true })
			if err := i.interrupt(ctx, c, t); err != nil {
				s.log.Warn("code could not be interrupted", "id", t.id, "error", err)
			}
		})
		defer timer.Stop()
	}
	out, errs := run.readers(taskWriter{t, &t.stdout}, taskWriter{t, &t.stderr})
	_, end, err := c.Output(follow, i.process.ID, now.OutputBytes, true, out, errs)
	switch {
	case end != nil:
		run.set(func() { run.status, run.dead = codeDied, end })
		return nil, nil
	case errors.Is(err, errEnough):
		return s.pictures(ctx, c, i, run), nil
	case run.state() == codeInterrupted:
		return nil, nil
	}
	return nil, lost(err)
}

// pictures are the images of code as content.
func (s *server) pictures(ctx context.Context, c *protocol.Client, i interpreter, run *codeRun) []mcp.Content {
	data, err := i.fetch(ctx, c, run.images)
	if err != nil {
		s.log.Warn("an image could not be fetched", "error", err)
	}
	var content []mcp.Content
	for n, image := range data {
		if len(image) == 0 {
			content = append(content, &mcp.TextContent{Text: fmt.Sprintf("[image %d is larger than %d bytes and is not shown]", n+1, front.MaxImage)})
			continue
		}
		content = append(content, &mcp.ImageContent{Data: image, MIMEType: run.images[n].mime})
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

func codeAnswer(t *task) *mcp.CallToolResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return front.Failure(explain(t.err))
	}
	run := t.code
	run.mu.Lock()
	defer run.mu.Unlock()
	whole := wholeOf(t.id)
	r := codeResult{State: run.status, Stdout: t.stdout.text(whole), Stderr: t.stderr.text(whole), TimedOut: run.timedOut, Duration: t.seconds(), ProcessID: t.id, Note: run.note}
	if run.has["result"] {
		text := run.result.text(whole)
		r.Result = &text
	}
	if run.has["error"] {
		r.Error = &codeFault{Type: run.errors, Message: run.message.text(""), Traceback: run.trace.text(whole)}
	}
	if t.ended.IsZero() {
		r.Next = "It goes on. wait_process waits for its end, stop_process interrupts it; the variables stay."
		return front.Answer(r)
	}
	r.Images = len(t.images)
	if run.dead == nil {
		return front.Answer(r, t.images...)
	}
	lost := "The interpreter has ended while the code ran: " + fate(*run.dead) + ". All variables are gone; the next run_python starts a new one."
	if run.timedOut {
		lost = "The code did not end when it was interrupted after the timeout, so its interpreter was killed. All variables are gone; the next run_python starts a new one."
	}
	r.Note = strings.TrimSpace(r.Note + " " + lost)
	answer := front.Answer(r)
	answer.IsError = true
	return answer
}
