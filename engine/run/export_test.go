package run

import (
	"context"
	"time"

	"github.com/seer-engine/seer/engine"
)

// OfSystem is for its test.
var OfSystem = ofSystem

// AgentAfter replaces the clock by which programs that do not end are ended.
func AgentAfter(o AgentOptions, after func(time.Duration, func())) AgentOptions {
	o.after = after
	return o
}

// Bounded replaces what bounds the steps that ask the sandbox after the run.
func Bounded(o Options, bound func(context.Context, time.Duration) (context.Context, context.CancelFunc)) Options {
	o.bound = bound
	return o
}

// AgentBounded is [Bounded] for an agent alone.
func AgentBounded(o AgentOptions, bound func(context.Context, time.Duration) (context.Context, context.CancelFunc)) AgentOptions {
	o.bound = bound
	return o
}

// Unguarded switches off, for the controls of attacks, what keeps a replay from running
// what a stranger's record names.
func Unguarded(o Options) Options {
	o.unguarded = true
	return o
}

// Through switches off, for the controls of attacks, what keeps results from being written
// through links.
func Through(o Options) Options {
	o.through = true
	return o
}

// UnguardedExperimentOf is [ExperimentOf] without its checks.
func UnguardedExperimentOf(e *engine.Engine, outputs string) (string, error) {
	return experimentOf(e, outputs, true)
}
