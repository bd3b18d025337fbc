package engine

import (
	"fmt"
	"time"
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
)

// Event is one step of progress, for people.
type Event struct {
	Time    time.Time `json:"time"`
	Stage   Stage     `json:"stage"`
	Level   Level     `json:"level"`
	Message string    `json:"message"`
	Done    bool      `json:"done,omitempty"` // the stage is finished
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
func (r reporter) log(stage Stage, line string) { r.send(stage, LevelLog, false, "%s", []any{line}) }
