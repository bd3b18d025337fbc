package shell

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/front"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
)

// allText is more than what is kept of all texts of a task.
const allText = 8 * repl.MaxOutput

// task is something that runs in the sandbox and that this server follows: a process, or
// a piece of code in the interpreter. It is safe for concurrent use.
type task struct {
	id      string // p-… of a process, x-… of code
	title   string // for the client's log
	started time.Time
	done    chan struct{}
	answer  func(t *task, room int) *mcp.CallToolResult // once it is done, or while it runs; with about so many bytes of text

	mu      sync.Mutex
	changed chan struct{} // closed and made anew with every news
	screen  front.Screen
	stdout  repl.Clip
	stderr  repl.Clip
	ended   time.Time
	end     *protocol.Process // of a process, once its end was seen
	code    *repl.Run         // of code
	err     error             // it could not be followed, or not be started
	images  []mcp.Content     // of code that has ended

	cancel func(context.Context) error // ends it in the sandbox
	drop   func()                      // ends the following of code that will not begin
}

func newTask(id, title string) *task {
	return &task{id: id, title: title, started: time.Now(), done: make(chan struct{}), changed: make(chan struct{})}
}

func (t *task) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// over notes the end, whatever it was.
func (t *task) over(f func()) {
	t.change(func() {
		f()
		t.ended = time.Now()
		t.screen.Close()
	})
	close(t.done)
}

func (t *task) isDone() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// seconds is how long it has run, or ran.
func (t *task) seconds() float64 {
	end := t.ended
	if end.IsZero() {
		end = time.Now()
	}
	return end.Sub(t.started).Round(time.Millisecond).Seconds()
}

// taskWriter takes one stream of a task.
type taskWriter struct {
	t  *task
	to *repl.Clip
}

func (w taskWriter) Write(data []byte) (int, error) {
	w.t.change(func() {
		_, _ = w.to.Write(data)
		w.t.screen.Write(string(data))
	})
	return len(data), nil
}

// Changed, State and Told are what the client is kept informed of.
func (t *task) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// State is how far it has come.
func (t *task) State() front.State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return front.State{Bar: t.screen.Bar(), Line: t.screen.LastLine()}
}

// Told is what has been printed and nobody has heard of.
func (t *task) Told() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Told()
}

// attend waits for a task on behalf of a client, which is kept informed. It answers with
// the result, or after a while with what there is: the task goes on. With own, a request
// that is cancelled ends the task.
func (s *server) attend(ctx context.Context, req *mcp.CallToolRequest, t *task, wait time.Duration, own bool) *mcp.CallToolResult {
	stop := front.Report(ctx, req, t.title, t)
	defer stop()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-t.done:
		return front.Fit(t.answer(t, front.TextOf(req.Session, allText)), req.Session)
	case <-timer.C:
		return front.Fit(t.answer(t, front.TextOf(req.Session, allText)), req.Session)
	case <-ctx.Done():
	}
	// A client that has vanished is a fault of the connection: what it has begun goes on.
	if own && errors.Is(context.Cause(ctx), context.Canceled) {
		s.wg.Go(func() {
			end, stop := context.WithTimeout(s.ctx, time.Minute)
			defer stop()
			if err := t.cancel(end); err != nil {
				s.log.Warn("what was cancelled could not be ended", "id", t.id, "error", err)
			}
		})
	}
	return front.Problem(t.id + ": the request was cancelled")
}

// tasks are those that this server has begun or has been asked for.
type tasks struct {
	mu    sync.Mutex
	byID  map[string]*task
	order []string
}

// keptTasks is how many that have ended are remembered here. The sandbox itself
// remembers processes for an hour.
const keptTasks = 200

func (l *tasks) add(t *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]*task{}
	}
	if l.byID[t.id] == nil {
		l.order = append(l.order, t.id)
	}
	l.byID[t.id] = t
	for i := 0; i < len(l.order) && len(l.order) > keptTasks; {
		if !l.byID[l.order[i]].isDone() {
			i++
			continue
		}
		delete(l.byID, l.order[i])
		l.order = append(l.order[:i], l.order[i+1:]...)
	}
}

// get is a task that is known and was not lost on the way.
func (l *tasks) get(id string) *task {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.byID[id]
	if t == nil || t.code == nil && t.isDone() && t.err != nil {
		return nil
	}
	return t
}
