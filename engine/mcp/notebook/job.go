package notebook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/mcp/front"
	"github.com/seer-engine/seer/engine/notebook"
)

const (
	// keptJobs is how many executions that have ended are kept here. Older ones are
	// asked for again.
	keptJobs = 50
	// queueEvery is how often the place in the queue is asked for.
	queueEvery = 2 * time.Second
)

// job is an execution that this server follows. It is safe for concurrent use.
type job struct {
	id      string
	session string
	cell    *notebook.Cell // as it was when the execution began; nil = none
	restore bool           // it runs all cells of a notebook
	done    chan struct{}  // closed when it has ended

	mu      sync.Mutex
	changed chan struct{} // closed and made anew with every news
	exec    notebook.Execution
	screen  front.Screen
	outputs outputs
	err     error // that keeps it from being followed
	started time.Time
}

// follow takes care of an execution from its first event on.
func (s *server) follow(e notebook.Execution, cell *notebook.Cell) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[e.ID]; j != nil {
		return j
	}
	j := &job{id: e.ID, session: e.Session, cell: cell, exec: e, done: make(chan struct{}), changed: make(chan struct{}), started: time.Now()}
	j.outputs.where = resourceURI(e.ID)
	s.jobs[e.ID] = j
	s.wg.Add(2)
	go func() {
		defer s.wg.Done()
		j.watchQueue(s.ctx, s.client)
	}()
	go func() {
		defer s.wg.Done()
		j.run(s.ctx, s.client)
		s.keep(j.id)
	}()
	return j
}

// find is the job of an execution, also of one that somebody else has begun.
func (s *server) find(ctx context.Context, id string) (*job, error) {
	s.mu.Lock()
	j := s.jobs[id]
	s.mu.Unlock()
	if j != nil {
		return j, nil
	}
	e, err := s.client.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	var cell *notebook.Cell
	if e.Cell != nil {
		cell = &notebook.Cell{ID: *e.Cell, Index: -1}
	}
	return s.follow(e, cell), nil
}

// keep forgets the oldest that have ended.
func (s *server) keep(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, id)
	for len(s.ended) > keptJobs {
		delete(s.jobs, s.ended[0])
		s.ended = s.ended[1:]
	}
}

func (j *job) run(ctx context.Context, c *notebook.Client) {
	defer close(j.done)
	for e, err := range c.Events(ctx, j.id, 0) {
		if err != nil {
			j.change(func() { j.err = err })
			return
		}
		j.take(e)
	}
}

// take takes in an event.
func (j *job) take(e notebook.Event) {
	if e.Type == notebook.EventNote {
		e.Text = inTools(e.Text)
	}
	prepared := prepare(e) // which may take long, and needs no lock
	j.change(func() {
		if j.exec.State == notebook.Queued {
			j.exec.State = notebook.Running
		}
		switch e.Type {
		case notebook.EventEnd:
			if e.Execution != nil {
				j.exec = *e.Execution
			}
			j.screen.Close()
		case notebook.EventOutput:
			if e.Output != nil && e.Output.Type == "stream" {
				j.screen.Write(string(e.Output.Text))
			}
		case notebook.EventNote:
			j.screen.Write(e.Text + "\n")
		}
		j.outputs.take(e, prepared)
	})
}

// watchQueue learns when an execution that had to wait begins.
func (j *job) watchQueue(ctx context.Context, c *notebook.Client) {
	tick := time.NewTicker(queueEvery)
	defer tick.Stop()
	for {
		j.mu.Lock()
		queued := j.exec.State == notebook.Queued
		j.mu.Unlock()
		if !queued {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-j.done:
			return
		case <-tick.C:
		}
		e, err := c.Execution(ctx, j.id)
		if err != nil {
			return // the events tell
		}
		j.change(func() {
			if j.exec.State == notebook.Queued && !e.State.Over() {
				j.exec = e
			}
		})
	}
}

// change alters the job and wakes those who wait for news.
func (j *job) change(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
	close(j.changed)
	j.changed = make(chan struct{})
}

// Changed implements [front.Running].
func (j *job) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// State implements [front.Running].
func (j *job) State() front.State {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := front.State{Bar: j.screen.Bar(), Line: j.screen.LastLine()}
	if j.exec.State == notebook.Queued {
		s.Waiting = fmt.Sprintf("queued: %d cells go first", j.exec.Position)
	}
	return s
}

// Told implements [front.Running].
func (j *job) Told() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.screen.Told()
}

// quiet is something of which nothing is heard but that it goes on.
type quiet struct{}

// Changed implements [front.Running].
func (quiet) Changed() <-chan struct{} { return nil }

// State implements [front.Running].
func (quiet) State() front.State { return front.State{} }

// Told implements [front.Running].
func (quiet) Told() string { return "" }
