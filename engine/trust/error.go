package trust

import (
	"context"
	"strings"
)

// Answer is what the user says to effects.
type Answer int

// The answers.
const (
	No     Answer = iota
	Once          // this time
	Always        // and whenever the same effects, by their hash, come again
)

// Asker asks the user, or decides in the user's name.
type Asker func(ctx context.Context, e Effects) (Answer, error)

// All confirms everything. It is for programs that run nothing but their own experiments.
func All(context.Context, Effects) (Answer, error) { return Once, nil }

// Error says that nobody has confirmed the effects.
type Error struct {
	Effects Effects
	Reason  string // for another reason than a missing confirmation; empty = that
	Advice  string
}

func (e *Error) Error() string {
	if e.Reason != "" {
		return e.Reason + "; " + e.Advice
	}
	text := e.Effects.Subject + " is not confirmed: it reaches beyond its folder and its confinement: " + strings.Join(e.Effects.Outside, "; ")
	if e.Advice == "" {
		return text + "; confirm these effects, or remove them from the experiment"
	}
	return text + "; " + e.Advice
}

// Refusal is the error of effects that nobody has confirmed.
func Refusal(e Effects) *Error {
	advice := ""
	if e.Unconfined {
		advice = "confine an experiment that is not your own with isolation: gvisor or bubblewrap (for the agent and the sandbox), or confirm these effects"
	}
	return &Error{Effects: e, Advice: advice}
}
