package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
)

// enter has the run use a sandbox that is there. What its agent does beyond its folder and its
// confinement is confirmed as for a replay: nothing is rented.
func (r *runner) enter(ctx context.Context) error {
	sandbox, err := r.engine.Open(ctx, r.opts.In)
	if err != nil {
		return err
	}
	info, err := sandbox.Info(ctx)
	if err == nil && info.ExecutionMode != r.exp.Sandbox.ExecutionMode {
		err = &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("the sandbox %s has execution_mode %s, and the experiment %s; run it in a sandbox that was started from it",
			info.ID, mode(info.ExecutionMode), mode(r.exp.Sandbox.ExecutionMode))}
	}
	if err == nil {
		err = r.engine.Replays().ConfirmReplay(ctx, r.exp, r.agent.isolation)
	}
	if err == nil {
		err = r.folders()
	}
	if err != nil {
		_ = sandbox.Close() // only a connection
		return err
	}
	r.sandbox, r.costBefore = sandbox, info.Cost
	r.report.Send(event.SandboxReady{Sandbox: info.ID})
	return nil
}

func mode(name string) string {
	if name == "" {
		return "null"
	}
	return name
}

// found is a service of that name that the sandbox has loaded from the same code, with its models.
func (r *runner) found(ctx context.Context, s experiment.Serve) (*engine.Service, bool) {
	if r.opts.In == "" {
		return nil, false
	}
	code, err := os.ReadFile(s.File)
	if err != nil {
		return nil, false // [engine.Sandbox.Serve] says it
	}
	sum := sha256.Sum256(code)
	there, err := r.sandbox.Service(ctx, s.Name)
	if err != nil || there.Interface().CodeHash != "sha256:"+hex.EncodeToString(sum[:]) {
		return nil, false
	}
	return there, true
}
