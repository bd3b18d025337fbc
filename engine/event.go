package engine

import "github.com/seer-engine/seer/engine/event"

// Event is one thing that happened. Package [event] has all types of events, and package
// eventtext a sentence for each.
type Event = event.Event

// Progress receives events, one at a time. Nil is allowed wherever one is taken.
type Progress = event.Func

// reporter sends the events of one operation.
func (e *Engine) reporter(to Progress) event.Reporter {
	return event.NewReporter("", event.SourceEngine, e.now, to)
}
