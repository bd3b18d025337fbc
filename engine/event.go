package engine

import "github.com/seer-engine/seer/engine/progress"

// Stage is a part of the work that an [Event] belongs to.
type Stage = progress.Stage

// The stages, in the order in which they are passed.
const (
	StagePlugin    Stage = progress.StagePlugin // fetched or pushed, before any experiment
	StageFix       Stage = progress.StageFix    // what this computer lacks is installed
	StagePreflight Stage = progress.StagePreflight
	StageModel     Stage = progress.StageModel
	StageMachine   Stage = progress.StageMachine
	StageBoot      Stage = progress.StageBoot
	StageUpload    Stage = progress.StageUpload
	StageSession   Stage = progress.StageSession // Jupyter, VS Code, kernels, workspaces
	StageService   Stage = progress.StageService
	StageAgent     Stage = progress.StageAgent
	StageCall      Stage = progress.StageCall
	StageEnd       Stage = progress.StageEnd
)

// Level says how much an [Event] matters to the user.
type Level = progress.Level

// The levels.
const (
	LevelInfo Level = progress.LevelInfo
	LevelWarn Level = progress.LevelWarn // something weaker or other than the user may expect
	LevelLog  Level = progress.LevelLog  // a line of somebody else's, such as an image build

	// LevelMoved is how far the copying of the last step is, some times a second: for a
	// display, not for a log.
	LevelMoved Level = progress.LevelMoved
)

// Event is one step of progress, for people.
type Event = progress.Event

// Progress receives events, one at a time. Nil is allowed wherever one is taken.
type Progress = progress.Func

// reporter sends the events of one operation.
func (e *Engine) reporter(to Progress) progress.Reporter {
	return progress.Reporter{Now: e.now, To: to}
}
