package run

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
)

// commands are the processes that an agent has started through its way to a sandbox of which it has
// a shell. The answers on the way say which those are. The interpreter is everybody's.
type commands struct {
	sandbox *engine.Sandbox
	reading sync.WaitGroup

	mu      sync.Mutex
	started []string
}

// watchCommands notes from now on what the agent starts in a sandbox.
func (t *traces) watchCommands(s *engine.Sandbox) *commands {
	c := &commands{sandbox: s}
	t.begun = append(t.begun, c)
	return c
}

// watch says where a copy of what is answered to the agent goes; nil = nobody looks.
func (c *commands) watch() func() io.WriteCloser {
	if c == nil {
		return nil
	}
	return watchAnswers(&c.reading, c.answer)
}

func (c *commands) what() string { return "processes" }

// answer notes an answer to a start.
func (c *commands) answer(resp *http.Response) {
	var p protocol.Process
	if resp.StatusCode == http.StatusCreated && decoded(resp, &p) && p.ID != "" && p.Name != repl.Name {
		c.mu.Lock()
		c.started = append(c.started, p.ID)
		c.mu.Unlock()
	}
}

// interrupt ends the processes with all that they have started: they are asked, and killed if they
// have not ended a while later.
func (c *commands) interrupt(ctx context.Context) error {
	c.reading.Wait()
	running := c.signal(ctx, c.started, "TERM")
	grace, cancel := context.WithTimeout(ctx, cancelling)
	defer cancel()
	for len(running) > 0 && grace.Err() == nil {
		select {
		case <-grace.Done():
		case <-time.After(30 * time.Millisecond):
		}
		running = c.running(grace, running)
	}
	var errs []error
	for _, id := range c.running(ctx, c.started) {
		if err := c.sandbox.Runtime().Processes().Signal(ctx, id, "KILL"); err != nil && protocol.CodeOf(err) != protocol.NotFound {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// signal sends a signal, and returns the processes that have got it.
func (c *commands) signal(ctx context.Context, ids []string, name string) (sent []string) {
	for _, id := range c.running(ctx, ids) {
		if c.sandbox.Runtime().Processes().Signal(ctx, id, name) == nil {
			sent = append(sent, id)
		}
	}
	return sent
}

// running are those that run, or of which nobody knows.
func (c *commands) running(ctx context.Context, ids []string) (running []string) {
	for _, id := range ids {
		p, err := c.sandbox.Runtime().Processes().Get(ctx, id)
		if err == nil && p.State == protocol.ProcessRunning || err != nil && protocol.CodeOf(err) != protocol.NotFound {
			running = append(running, id)
		}
	}
	return running
}
