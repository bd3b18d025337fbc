package machine

import (
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// EventKind says what an [Event] tells.
type EventKind string

// The kinds of [Event].
const (
	EventState     EventKind = "state"     // the machine is in a new state
	EventLog       EventKind = "log"       // a line from the provider
	EventRetry     EventKind = "retry"     // a passing fault; it is tried again
	EventChoice    EventKind = "choice"    // a choice gave no machine, and why; the next is tried
	EventUnexposed EventKind = "unexposed" // the provider made the machine without ways to its optional ports
	EventCleanup   EventKind = "cleanup"   // what was rented is ended again
)

// Event is a sign of progress for the user.
type Event struct {
	Kind  EventKind
	ID    string    // of the sandbox
	State sdk.State // for EventState
	Text  string    // one line

	Remedies []remedy.Remedy // what the user can do about it
}
