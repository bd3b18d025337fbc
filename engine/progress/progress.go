// Package progress tells people how far an operation is.
package progress

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/remedy"
)

// Stage is a part of the work that an [Event] belongs to.
type Stage string

// The stages, in the order in which they are passed.
const (
	StagePlugin    Stage = "plugin" // fetched or pushed, before any experiment
	StageFix       Stage = "fix"    // what this computer lacks is installed
	StagePreflight Stage = "preflight"
	StageModel     Stage = "model"
	StageMachine   Stage = "machine"
	StageBoot      Stage = "boot"
	StageUpload    Stage = "upload"
	StageSession   Stage = "session" // Jupyter, VS Code, kernels, workspaces
	StageService   Stage = "service"
	StageAgent     Stage = "agent"
	StageCall      Stage = "call"
	StageEnd       Stage = "end"

	StageSnapshot Stage = "snapshot" // saving and restoring sandboxes
)

// Level says how much an [Event] matters to the user.
type Level string

// The levels.
const (
	LevelInfo Level = "info"
	LevelWarn Level = "warn" // something weaker or other than the user may expect
	LevelLog  Level = "log"  // a line of somebody else's, such as an image build

	// LevelMoved is how far the copying of the last step is, some times a second: for a
	// display, not for a log.
	LevelMoved Level = "moved"
)

// Event is one step of progress, for people.
type Event struct {
	Time    time.Time `json:"time"`
	Stage   Stage     `json:"stage"`
	Level   Level     `json:"level"`
	Message string    `json:"message"`
	Done    bool      `json:"done,omitempty"`  // the stage is finished
	Bytes   int64     `json:"bytes,omitempty"` // of LevelMoved: how many are there
	Total   int64     `json:"total,omitempty"` // of how many; 0 = nobody knows

	Remedies []remedy.Remedy `json:"remedies,omitempty"` // what the user can do about it
}

// Func receives events, one at a time. Nil is allowed wherever one is taken.
type Func func(Event)

// Reporter sends the events of one operation.
type Reporter struct {
	Now func() time.Time
	To  Func // nil = nobody is told
}

func (r Reporter) send(stage Stage, level Level, done bool, format string, args []any) {
	if r.To != nil {
		r.To(Event{Time: r.Now(), Stage: stage, Level: level, Done: done, Message: fmt.Sprintf(format, args...)})
	}
}

// Info reports a step.
func (r Reporter) Info(stage Stage, format string, args ...any) {
	r.send(stage, LevelInfo, false, format, args)
}

// Done reports that a stage is finished.
func (r Reporter) Done(stage Stage, format string, args ...any) {
	r.send(stage, LevelInfo, true, format, args)
}

// Warn reports something weaker or other than the user may expect.
func (r Reporter) Warn(stage Stage, format string, args ...any) {
	r.send(stage, LevelWarn, false, format, args)
}

// Advise is [Reporter.Warn] with what the user can do about it.
func (r Reporter) Advise(stage Stage, remedies []remedy.Remedy, text string) {
	if r.To != nil {
		r.To(Event{Time: r.Now(), Stage: stage, Level: LevelWarn, Message: text, Remedies: remedies})
	}
}

// Moved reports how much of the last step is copied; total is 0 where nobody knows it.
func (r Reporter) Moved(stage Stage, bytes, total int64) {
	if r.To != nil {
		r.To(Event{Time: r.Now(), Stage: stage, Level: LevelMoved, Bytes: bytes, Total: total})
	}
}

// Counter returns a function for [client.Counted]; total is 0 where nobody knows it.
// After end it reports nothing: what is sent may still be read when the answer is there.
func (r Reporter) Counter(stage Stage, total int64) (count func(int64), end func()) {
	var mu sync.Mutex
	var bytes int64
	var told time.Time
	var ended bool
	count = func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		bytes += n
		if now := time.Now(); !ended && now.Sub(told) >= movedEvery {
			told = now
			r.Moved(stage, bytes, total)
		}
	}
	return count, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// Counted is ctx for a copying that reports how far it is, until end.
func (r Reporter) Counted(ctx context.Context, stage Stage, total int64) (_ context.Context, end func()) {
	count, end := r.Counter(stage, total)
	return client.Counted(ctx, count), end
}

// movedEvery is how often a copying tells how far it is.
const movedEvery = 100 * time.Millisecond

// Log hands on a line of somebody else.
func (r Reporter) Log(stage Stage, line string) { r.send(stage, LevelLog, false, "%s", []any{line}) }
