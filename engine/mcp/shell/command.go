package shell

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol"
)

// commandArgs are those of run_command and start_process.
type commandArgs struct {
	Command    string            `json:"command"`
	Cwd        string            `json:"cwd"`
	Timeout    float64           `json:"timeout"`
	EndAfter   float64           `json:"end_after"`
	Env        map[string]string `json:"env"`
	Background bool              `json:"background"`
	Name       string            `json:"name"`
}

func (a commandArgs) spec(s *server) (protocol.ProcessSpec, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return protocol.ProcessSpec{}, errors.New("the command is empty")
	case strings.ContainsRune(a.Command, 0):
		return protocol.ProcessSpec{}, errors.New("the command contains a zero byte, which none can; write such data to a file")
	case a.Timeout < 0 || a.EndAfter < 0:
		return protocol.ProcessSpec{}, errNegative
	}
	cwd := s.opts.Workdir
	if a.Cwd != "" {
		var err error
		if cwd, err = s.at(a.Cwd); err != nil {
			return protocol.ProcessSpec{}, err
		}
	}
	// In the background, so that nothing but its end, its time or the agent ends it: also
	// when this program is started again while it runs.
	return protocol.ProcessSpec{
		ID: newID("p-"), Name: a.Name, Shell: a.Command, Cwd: cwd, Env: a.Env, TimeoutSeconds: a.EndAfter, Background: true,
	}, nil
}

var errNegative = errors.New("timeout and end_after are numbers of seconds above 0")

// waitOf is how long an answer is waited for: as long as the client does, or less where it
// wants that.
func (s *server) waitOf(req *mcp.CallToolRequest, timeout float64) time.Duration {
	wait := clients.WaitOf(req.Session, s.opts.Wait)
	if timeout > 0 && timeout < wait.Seconds() {
		return time.Duration(timeout * float64(time.Second))
	}
	return wait
}

func newID(prefix string) string {
	var b [8]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

func (s *server) runCommand(ctx context.Context, req *mcp.CallToolRequest, a commandArgs) *mcp.CallToolResult {
	spec, err := a.spec(s)
	if err != nil {
		return reply.BadArguments(req.Params.Name, err)
	}
	j, err := s.begin(ctx, spec)
	if err != nil {
		return reply.Failure(explain(err))
	}
	if a.Background {
		return j.answer(clients.TextOf(req.Session, allText))
	}
	return s.waitForResult(ctx, req, j, s.waitOf(req, a.Timeout), true)
}

func (s *server) startProcess(ctx context.Context, req *mcp.CallToolRequest, a commandArgs) *mcp.CallToolResult {
	a.Background = true
	return s.runCommand(ctx, req, a)
}

// begin starts a process and follows it.
func (s *server) begin(ctx context.Context, spec protocol.ProcessSpec) (*job, error) {
	c, err := s.get()
	if err != nil {
		return nil, err
	}
	p, err := c.Processes().StartOwn(ctx, spec)
	if err != nil {
		return nil, err
	}
	return s.follow(c, p), nil
}

// follow keeps what a process writes, and its end.
func (s *server) follow(c *client.Client, p protocol.Process) *job {
	started := time.Now()
	if begun := time.Unix(p.StartedUnix, 0); time.Since(begun) > 2*time.Second {
		started = begun // of an earlier server
	}
	j := newJob(p.ID, title(p), started)
	j.result = (*job).command
	j.cancel = func(ctx context.Context) error { return endProcess(ctx, c, p.ID, false) }
	s.jobs.Put(j.id, j)
	s.wg.Go(func() {
		_, end, err := c.Processes().Output(s.ctx, p.ID, 0, true, jobWriter{j, &j.stdout}, jobWriter{j, &j.stderr})
		j.End(func() { j.end, j.err = end, lost(err) })
		s.jobs.Ended(j.id)
	})
	return j
}

// title is what a process is called in a list.
func title(p protocol.Process) string {
	if p.Name != "" {
		return p.Name
	}
	return reply.Cut(commandOf(p), 80)
}

// commandOf is what the agent has said.
func commandOf(p protocol.Process) string {
	if len(p.Argv) == 3 && p.Argv[1] == "-c" {
		return p.Argv[2]
	}
	return strings.Join(p.Argv, " ")
}

// commandResult is the answer about a process.
type commandResult struct {
	State     string  `json:"state"` // running or exited
	ExitCode  *int    `json:"exit_code"`
	Signal    string  `json:"signal,omitempty"`
	TimedOut  bool    `json:"timed_out"`
	Duration  float64 `json:"duration"` // seconds
	Stdout    string  `json:"stdout"`
	Stderr    string  `json:"stderr"`
	ProcessID string  `json:"process_id"`
	Note      string  `json:"note,omitempty"`
	Next      string  `json:"next,omitempty"`
}

// command is the result of a process.
func (j *job) command(room int) *mcp.CallToolResult {
	if j.err != nil {
		return reply.Failure(explain(j.err))
	}
	whole := wholeOf(j.id)
	parts := share(room, &j.stdout, &j.stderr)
	r := commandResult{State: "running", Duration: j.seconds(), Stdout: clipText(&j.stdout, parts[0], whole), Stderr: clipText(&j.stderr, parts[1], whole), ProcessID: j.id}
	if j.end == nil {
		r.Next = "It continues. wait_process waits for its end, process_output reads its output, stop_process ends it."
		return reply.Answer(r)
	}
	r.State, r.ExitCode, r.Signal, r.TimedOut = "exited", &j.end.ExitCode, j.end.Signal, j.end.TimedOut
	switch {
	case j.end.MachineEnds:
		r.Note = "It was killed because the sandbox ends."
	case r.Signal == "KILL" && !r.TimedOut:
		r.Note = "It was killed (by somebody, or because the memory was full)."
	}
	return reply.Answer(r)
}

// wholeOf says where all output is of which the middle was left out.
func wholeOf(id string) string {
	return "process_output from offset 0 has all of it, and so has the resource " + processesURI + id + "/output"
}

// stopGrace is how long a process has between being asked to end and being killed.
const stopGrace = 5 * time.Second

// endProcess asks a process and all that it has started to end, and then kills what is
// left; with force at once.
func endProcess(ctx context.Context, c *client.Client, id string, force bool) error {
	if !force {
		if err := c.Processes().Signal(ctx, id, "TERM"); err != nil {
			return err
		}
		wait, stop := context.WithTimeout(ctx, stopGrace)
		defer stop()
		if gone(wait, c, id) {
			// It may have started something after the processes were listed that got the signal.
			if err := c.Processes().Signal(ctx, id, "TERM"); protocol.CodeOf(err) != protocol.NotFound {
				return err
			}
			return nil
		}
	}
	if err := c.Processes().Signal(ctx, id, "KILL"); err != nil {
		return err
	}
	wait, stop := context.WithTimeout(ctx, stopGrace)
	defer stop()
	if !gone(wait, c, id) {
		return errors.New("the process " + id + " has not ended after it was killed; it may hang in the kernel")
	}
	return nil
}

// gone waits until a process has ended.
func gone(ctx context.Context, c *client.Client, id string) bool {
	for {
		p, err := c.Processes().Get(ctx, id)
		switch {
		case err == nil && p.State != protocol.ProcessRunning, protocol.CodeOf(err) == protocol.NotFound:
			return true
		case ctx.Err() != nil:
			return false
		}
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Millisecond):
		}
	}
}
