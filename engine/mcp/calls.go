package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/protocol"
)

// keptCalls is how many calls that have ended can be asked for again here. Older ones
// may still be known to the sandbox.
const keptCalls = 50

// calls are those that this server has made or has been asked for.
type calls struct {
	name string // under which they take their turns
	jobs task.Set[*job]
}

func newCalls() *calls {
	return &calls{name: "mcp-" + rand.Text()[:8], jobs: task.Set[*job]{Keep: keptCalls}}
}

// clientOf is the name under which a session takes its turns. It tells nothing of
// the session's id, which is a secret.
func (s *server) clientOf(session *mcp.ServerSession) string {
	if session == nil || session.ID() == "" {
		return s.calls.name
	}
	sum := sha256.Sum256([]byte(s.calls.name + session.ID()))
	return s.calls.name + "-" + hex.EncodeToString(sum[:4])
}

// begin makes a call, which continues whether or not a client waits for it.
func (s *server) begin(t *tool, body *client.Body, asker string) (*job, error) {
	c, service, err := s.link.get()
	if err != nil {
		return nil, err
	}
	j := newJob(t)
	req := client.CallRequest{
		Service: service, Function: t.fn.Name, Body: body, ID: protocol.NewCallID(),
		CallOptions: protocol.CallOptions{Output: true, HandleAbove: s.opts.handleAbove(), Client: asker},
	}
	ready := make(chan struct{})
	if j.pending, err = c.Calls().Start(s.ctx, req, waitFor(ready, j.handler())); err != nil {
		return nil, explain(s.ctx, service, err)
	}
	close(ready)
	s.follow(j, service)
	return j, nil
}

// waitFor holds the first event until the job is complete.
func waitFor(ready <-chan struct{}, h client.CallHandler) client.CallHandler {
	queued, output, item := h.Queued, h.Output, h.Item
	h.Queued = func(n int) { <-ready; queued(n) }
	h.Output = func(stream int, text string) { <-ready; output(stream, text) }
	h.Item = func(b client.Body) error { <-ready; return item(b) }
	return h
}

// find is the call of that name: one of this server's, or one that the sandbox still
// knows, of a server that is gone.
func (s *server) find(ctx context.Context, id string) (*job, error) {
	if j, ok := s.calls.jobs.Get(id); ok {
		return j, nil
	}
	c, service, err := s.link.get()
	if err != nil {
		return nil, err
	}
	known, err := c.Calls().Get(ctx, service, id)
	if err != nil {
		return nil, explain(ctx, service, err)
	}
	j := newJob(s.tool(known.Function))
	ready := make(chan struct{})
	j.pending = c.Calls().Attach(s.ctx, service, id, 1, waitFor(ready, j.handler()))
	close(ready)
	s.follow(j, service)
	return j, nil
}

// follow keeps the job's end.
func (s *server) follow(j *job, service string) {
	s.calls.jobs.Put(j.id(), j)
	s.wg.Add(2)
	go func() {
		defer s.wg.Done()
		answer, err := j.pending.Wait(context.Background())
		j.end(answer, explain(s.ctx, service, err))
		s.calls.jobs.Ended(j.id())
		if isCall(err, protocol.CallUnknownFunction) {
			s.refresh(s.ctx)
		}
	}()
	go func() {
		defer s.wg.Done()
		s.announce(j)
	}()
}

// leave stops following. What runs lingers in the sandbox.
func (c *calls) leave() {
	for _, j := range c.jobs.All() {
		j.pending.Leave()
	}
}

// announceEvery bounds how often subscribers hear of a call.
const announceEvery = time.Second

// announce tells those who have subscribed to the call's resource.
func (s *server) announce(j *job) {
	for over := false; !over; {
		select {
		case <-j.Done():
			over = true
		case <-j.Changed():
			select {
			case <-j.Done():
				over = true
			case <-time.After(announceEvery):
			}
		}
		s.updated(callsURI + j.id())
	}
}

// cancelPatience is how long the end of a cancelled call is waited for.
const cancelPatience = 10 * time.Second

// cancel ends the call in the sandbox.
func (j *job) cancel(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
	defer stop()
	return j.pending.Cancel(ctx)
}

func isCall(err error, code protocol.CallCode) bool {
	return errors.Is(err, &protocol.CallError{Code: code})
}
