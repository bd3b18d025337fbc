package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/client"
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
}

// Progress receives events, one at a time. Nil is allowed wherever one is taken.
type Progress func(Event)

// reporter sends events of one operation.
type reporter struct {
	now func() time.Time
	to  Progress
}

func (r reporter) send(stage Stage, level Level, done bool, format string, args []any) {
	if r.to != nil {
		r.to(Event{Time: r.now(), Stage: stage, Level: level, Done: done, Message: fmt.Sprintf(format, args...)})
	}
}

func (r reporter) info(stage Stage, format string, args ...any) {
	r.send(stage, LevelInfo, false, format, args)
}
func (r reporter) done(stage Stage, format string, args ...any) {
	r.send(stage, LevelInfo, true, format, args)
}
func (r reporter) warn(stage Stage, format string, args ...any) {
	r.send(stage, LevelWarn, false, format, args)
}

// moved says how far the last step is.
func (r reporter) moved(stage Stage, bytes, total int64) {
	if r.to != nil {
		r.to(Event{Time: r.now(), Stage: stage, Level: LevelMoved, Bytes: bytes, Total: total})
	}
}

// counter is for [client.Counted]; total is 0 where nobody knows it. After end it tells
// nothing: what is sent may still be read when the answer is there.
func (r reporter) counter(stage Stage, total int64) (count func(int64), end func()) {
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
			r.moved(stage, bytes, total)
		}
	}
	return count, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// counted is ctx for a copying that tells how far it is, until end.
func (r reporter) counted(ctx context.Context, stage Stage, total int64) (_ context.Context, end func()) {
	count, end := r.counter(stage, total)
	return client.Counted(ctx, count), end
}

// movedEvery is how often a copying tells how far it is.
const movedEvery = 100 * time.Millisecond

func (r reporter) log(stage Stage, line string) { r.send(stage, LevelLog, false, "%s", []any{line}) }
