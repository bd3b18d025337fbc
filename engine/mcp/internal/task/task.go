// Package task follows work that goes on in a sandbox after a tool has answered: a call, a
// cell of a notebook, a process. It keeps a client informed while a tool waits, and
// remembers the last ones that have ended.
package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/term"
	"github.com/seer-engine/seer/internal/closed"
)

// Tracker is the state that all such work has. A type of work embeds one, and adds fields
// that it reads and writes within [Tracker.View] and [Tracker.Update] only.
type Tracker struct {
	Screen term.Screen // what was printed; within View and Update only

	started time.Time
	done    chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each change
	ended   time.Time
}

// NewTracker begins to follow something that has run since then.
func NewTracker(started time.Time) *Tracker {
	return &Tracker{started: started, done: make(chan struct{}), changed: make(chan struct{})}
}

// View reads the state. f must not call the tracker.
func (t *Tracker) View(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// Update changes the state, and wakes those who wait for a change. f must not call the
// tracker.
func (t *Tracker) Update(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// End makes the last change. It is called once.
func (t *Tracker) End(f func()) {
	t.Update(func() {
		f()
		t.ended = time.Now()
		t.Screen.Close()
	})
	close(t.done)
}

// Done is closed when the work has ended, or can no longer be followed.
func (t *Tracker) Done() <-chan struct{} { return t.done }

// Ended reports whether Done is closed.
func (t *Tracker) Ended() bool { return closed.Is(t.done) }

// Elapsed is how long the work has run, or ran, since it is followed. It is called within
// View.
func (t *Tracker) Elapsed() time.Duration {
	if t.ended.IsZero() {
		return time.Since(t.started)
	}
	return t.ended.Sub(t.started)
}

// Changed implements [Running].
func (t *Tracker) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// State implements [Running] with what was printed.
func (t *Tracker) State() (s State) {
	t.View(func() { s = State{Bar: t.Screen.Bar(), Line: t.Screen.LastLine()} })
	return s
}

// DrainOutput implements [Running].
func (t *Tracker) DrainOutput() (text string) {
	t.View(func() { text = t.Screen.DrainOutput() })
	return text
}

// Wait waits for done on behalf of a client, which is kept informed about what. It reports
// whether done was closed; otherwise the time is over, or the request has ended.
func Wait(ctx context.Context, req *mcp.CallToolRequest, name string, what Running, done <-chan struct{}, most time.Duration) bool {
	stop := Report(ctx, req, name, what)
	defer stop()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	return closed.Is(done)
}

// Cancelled reports whether the client has cancelled the request. A client that vanishes
// ends the request with another cause: the connection failed, and the work goes on.
func Cancelled(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled)
}

// Silent is a [Running] that only runs.
type Silent struct{}

// Changed implements [Running].
func (Silent) Changed() <-chan struct{} { return nil }

// State implements [Running].
func (Silent) State() State { return State{} }

// DrainOutput implements [Running].
func (Silent) DrainOutput() string { return "" }
