package run

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// interrupting is how long calls and cells may take to be interrupted.
const interrupting = 5 * time.Second

// traces are what the calls and cells of a run's agent are known by, in sandboxes that others may
// use at the same time.
type traces struct {
	tokens []ownToken
	begun  []begun
}

// begun is what an agent has begun through its ways to one sandbox, and that is not over with it.
type begun interface {
	what() string
	interrupt(ctx context.Context) error
}

// ownToken is a token of a service that nobody but the agent of this run has.
type ownToken struct {
	service *engine.Service
	id      string
}

// interrupt ends the calls and cells of an agent that did not end by itself. No connection of its
// is open any more.
func (r *runner) interrupt(ctx context.Context) {
	if len(r.traces.tokens)+len(r.traces.begun) == 0 {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.opts.after(interrupting, func() { cancel(fmt.Errorf("it takes longer than %s", interrupting)) })
	for _, t := range r.traces.tokens {
		if err := t.cancel(ctx); err != nil {
			r.warn("calls of the agent to %s may go on in the sandbox: %v", t.service.Name(), because(ctx, err))
		}
	}
	for _, b := range r.traces.begun {
		if err := b.interrupt(ctx); err != nil {
			r.warn("%s of the agent may go on in the sandbox: %v", b.what(), because(ctx, err))
		}
	}
}

func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// cancel cancels the calls with the token that have not ended. A request that was under way when
// the agent ended may have made one more, so it looks again.
func (t ownToken) cancel(ctx context.Context) error {
	for cancelled := map[string]bool{}; ; {
		calls, err := t.service.Calls(ctx)
		if err != nil {
			return err
		}
		before := len(cancelled)
		for _, c := range calls {
			over := c.State != protocol.CallQueued && c.State != protocol.CallRunning
			if c.Token != t.id || over || cancelled[c.ID] {
				continue
			}
			if err := t.service.Cancel(ctx, c.ID); err != nil {
				return err
			}
			cancelled[c.ID] = true
		}
		if len(cancelled) == before {
			return nil
		}
	}
}

// revoke ends the tokens of the run, with the handles that were made with them.
func (t *traces) revoke(ctx context.Context, warn func(string, ...any)) {
	for _, t := range t.tokens {
		if err := t.service.RevokeToken(ctx, t.id); err != nil {
			warn("the agent's token %s of %s stays valid: %v", t.id, t.service.Name(), err)
		}
	}
}

// cells are the executions that were begun through one way to Jupyter. All who use a notebook have
// the same token, so the answers on the agent's way say which are the agent's.
type cells struct {
	sandbox *engine.Sandbox
	reading sync.WaitGroup

	mu    sync.Mutex
	begun map[string][]string // session → its executions, in order
}

// watch says where a copy of what Jupyter answers to the agent goes.
func (t *traces) watch(s *engine.Sandbox) func() io.WriteCloser {
	c := &cells{sandbox: s, begun: map[string][]string{}}
	t.begun = append(t.begun, c)
	return watchAnswers(&c.reading, c.answer)
}

func (c *cells) what() string { return "cells" }

// answer notes an answer to a request that runs something. No other answer has a field execution.
func (c *cells) answer(resp *http.Response) {
	var run notebook.Run
	if resp.Header.Get(notebook.HeaderVersion) == "" && decoded(resp, &run) && run.Execution != nil {
		c.mu.Lock()
		c.begun[run.Execution.Session] = append(c.begun[run.Execution.Session], run.Execution.ID)
		c.mu.Unlock()
	}
}

// watchAnswers says where a copy of what is answered on a connection goes: each answer is noted.
func watchAnswers(reading *sync.WaitGroup, note func(*http.Response)) func() io.WriteCloser {
	return func() io.WriteCloser {
		answers, w := io.Pipe()
		reading.Go(func() {
			readAnswers(answers, note)
			_, _ = io.Copy(io.Discard, answers) // what passes is never held up
		})
		return w
	}
}

// readAnswers reads the answers on one connection, until it carries something else.
func readAnswers(r io.Reader, note func(*http.Response)) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
			return
		}
		note(resp)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return
		}
	}
}

// decoded reads the JSON of an answer, and reports whether it is one.
func decoded(resp *http.Response, to any) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") &&
		json.NewDecoder(io.LimitReader(unpacked(resp), maxAnswer)).Decode(to) == nil
}

// maxAnswer is how long an answer may be that says what runs, in bytes. It has the cell, too.
const maxAnswer = 32 << 20

// unpacked is the body of an answer, as the agent's program reads it.
func unpacked(resp *http.Response) io.Reader {
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if r, err := gzip.NewReader(resp.Body); err == nil {
			return r
		}
	}
	return resp.Body
}

// interrupt ends the executions that have not ended, the last one first: a queued one must not
// begin when the one before it is interrupted.
func (c *cells) interrupt(ctx context.Context) error {
	c.reading.Wait()
	if len(c.begun) == 0 {
		return nil
	}
	client, err := c.sandbox.Notebook(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, ids := range c.begun {
		for i := len(ids) - 1; i >= 0; i-- {
			e, err := client.Execution(ctx, ids[i])
			if err == nil && e.State.Over() {
				break // and so are those before it
			}
			if err == nil {
				err = client.Cancel(ctx, ids[i])
			}
			if err != nil && protocol.CodeOf(err) != protocol.NotFound {
				return err
			}
		}
	}
	return nil
}
