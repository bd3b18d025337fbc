package notebook

import (
	"context"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/mcp/internal/task"
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
	*task.Tracker
	id      string
	session string
	cell    *notebook.Cell // as it was when the execution began; nil = none

	restore bool // it runs all cells of a notebook
	exec    notebook.Execution
	outputs outputs
	err     error // that keeps it from being followed
}

// follow takes care of an execution from its first event on.
func (s *server) follow(e notebook.Execution, cell *notebook.Cell) *job {
	return s.jobs.GetOrPut(e.ID, func() *job {
		j := &job{Tracker: task.NewTracker(time.Now()), id: e.ID, session: e.Session, cell: cell, exec: e}
		j.outputs.where = resourceURI(e.ID)
		s.wg.Go(func() { j.watchQueue(s.ctx, s.client) })
		s.wg.Go(func() {
			j.run(s.ctx, s.client)
			s.jobs.Ended(j.id)
		})
		return j
	})
}

// find is the job of an execution, also of one that somebody else has begun.
func (s *server) find(ctx context.Context, id string) (*job, error) {
	if j, ok := s.jobs.Get(id); ok {
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

func (j *job) run(ctx context.Context, c *notebook.Client) {
	var failed error
	for e, err := range c.Events(ctx, j.id, 0) {
		if err != nil {
			failed = err
			break
		}
		j.take(e)
	}
	j.End(func() { j.err = failed })
}

// take takes in an event.
func (j *job) take(e notebook.Event) {
	if e.Type == notebook.EventNote {
		e.Text = inTools(e.Text)
	}
	prepared := prepare(e) // which may take long, and needs no lock
	j.Update(func() {
		if j.exec.State == notebook.Queued {
			j.exec.State = notebook.Running
		}
		switch e.Type {
		case notebook.EventEnd:
			if e.Execution != nil {
				j.exec = *e.Execution
			}
			j.Screen.Close()
		case notebook.EventOutput:
			if e.Output != nil && e.Output.Type == "stream" {
				j.Screen.Write(string(e.Output.Text))
			}
		case notebook.EventNote:
			j.Screen.Write(e.Text + "\n")
		}
		j.outputs.take(e, prepared)
	})
}

// watchQueue learns when an execution that had to wait begins.
func (j *job) watchQueue(ctx context.Context, c *notebook.Client) {
	tick := time.NewTicker(queueEvery)
	defer tick.Stop()
	for {
		if !j.queued() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-j.Done():
			return
		case <-tick.C:
		}
		e, err := c.Execution(ctx, j.id)
		if err != nil {
			return // the events tell
		}
		j.Update(func() {
			if j.exec.State == notebook.Queued && !e.State.Over() {
				j.exec = e
			}
		})
	}
}

// queued reports whether other cells go first.
func (j *job) queued() (queued bool) {
	j.View(func() { queued = j.exec.State == notebook.Queued })
	return queued
}

// State implements [task.Running].
func (j *job) State() task.State {
	s := j.Tracker.State()
	j.View(func() {
		if j.exec.State == notebook.Queued {
			s.Waiting = fmt.Sprintf("queued: %d cells go first", j.exec.Position)
		}
	})
	return s
}
