package mcp

import (
	"encoding/json"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp/internal/task"
	"github.com/seer-engine/seer/engine/mcp/internal/term"
	"github.com/seer-engine/seer/engine/protocol"
)

// job is a call that this server follows. It is safe for concurrent use.
type job struct {
	*task.Tracker
	tool    *tool
	pending *client.PendingCall

	position *int              // calls that go first
	running  bool              // something has come of it
	items    []json.RawMessage // of a stream, plain
	itemSize int
	omitted  int // items that were too many
	answer   client.Answer
	err      error
	over     bool
}

func newJob(t *tool) *job {
	return &job{Tracker: task.NewTracker(time.Now()), tool: t}
}

func (j *job) id() string { return j.pending.ID() }

func (j *job) handler() client.CallHandler {
	return client.CallHandler{
		Queued: func(position int) { j.Update(func() { j.position = &position }) },
		Output: func(_ int, text string) {
			j.Update(func() {
				j.begun()
				j.Screen.Write(text)
			})
		},
		Item: func(b client.Body) error {
			item, err := readItem(b)
			j.Update(func() {
				j.begun()
				j.take(item)
			})
			return err
		},
	}
}

func (j *job) begun() { j.running, j.position = true, nil }

// Limits of what is kept of a stream. Later items are counted only.
const (
	MaxItems     = 1000
	maxItemsSize = 1 << 20
)

func (j *job) take(item json.RawMessage) {
	if len(j.items) >= MaxItems || j.itemSize+len(item) > maxItemsSize {
		j.omitted++
		return
	}
	j.items, j.itemSize = append(j.items, item), j.itemSize+len(item)
}

func (j *job) end(answer client.Answer, err error) {
	j.End(func() {
		j.position, j.over = nil, true
		j.answer, j.err = answer, err
	})
}

// progress is what is known of a call that has not been answered.
type progress struct {
	Call     string             `json:"call"`
	Function string             `json:"function"`
	State    protocol.CallState `json:"state"`
	Position *int               `json:"position,omitempty"`
	Progress *term.Bar          `json:"progress,omitempty"`
	Seconds  float64            `json:"seconds"`
	Items    int                `json:"items,omitempty"`
	Tail     string             `json:"output_tail,omitempty"`
	Next     string             `json:"next,omitempty"` // what an agent can do now: some are shown nothing else of the answer
}

func (j *job) progress() (p progress) {
	j.View(func() {
		p = progress{
			Call: j.id(), Function: j.tool.fn.Name, State: j.state(), Position: j.position, Progress: j.Screen.Bar(),
			Seconds: j.Elapsed().Round(100 * time.Millisecond).Seconds(), Items: len(j.items) + j.omitted, Tail: j.Screen.Text(),
		}
	})
	return p
}

func (j *job) state() protocol.CallState {
	switch {
	case j.over:
		return endState(j.err)
	case j.position != nil:
		return protocol.CallQueued
	}
	return protocol.CallRunning
}

func endState(err error) protocol.CallState {
	switch {
	case err == nil:
		return protocol.CallDone
	case isCall(err, protocol.CallCancelled):
		return protocol.CallWasCancelled
	case isCall(err, protocol.CallInterrupted):
		return protocol.CallWasCut
	}
	return protocol.CallFailed
}
