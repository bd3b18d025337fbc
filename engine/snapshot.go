package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/machine"
)

// Snapshot saves the file system of a running sandbox at its provider. The result is
// what `image: {snapshot: …}` of an experiment starts from, at the same provider; it
// outlives the sandbox. What processes have in memory is not part of it.
func (e *Engine) Snapshot(ctx context.Context, ref string, progress Progress) (string, error) {
	r, err := e.find(ctx, ref)
	if err != nil {
		return "", err
	}
	report := e.reporter(progress)
	report.Info(StageMachine, "saving the file system of %s", r.ID)
	image, err := e.driver.Snapshot(ctx, r, func(ev machine.Event) {
		if ev.Kind == machine.EventLog {
			report.Log(StageMachine, ev.Text)
		} else {
			report.Info(StageMachine, "%s", ev.Text)
		}
	})
	if err == nil {
		report.Done(StageMachine, "saved as %s", image)
	}
	return image, as(KindProvider, err)
}
