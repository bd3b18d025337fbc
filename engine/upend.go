package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/provision"
)

// whileItLives is a context that also ends when the machine does.
func (u *up) whileItLives(ctx context.Context) (context.Context, context.CancelFunc) {
	pause := 10 * time.Second
	if u.engine.plugins.Native(u.rec.Provider) {
		pause = time.Second
	}
	return u.engine.observer().Lifetime(ctx, u.rec, pause)
}

// explain puts the end of the machine in the place of what it led to.
func (u *up) explain(ctx context.Context, cause error) error {
	err := u.engine.observer().Explain(ctx, u.rec, startedWhile, cause, client.Ended(cause))
	if strings.Contains(err.Error(), local.MemoryFull) {
		return &Error{Kind: KindConfig, Err: u.exp.MemoryFull(err)}
	}
	return err
}

const startedWhile = "while it was started"

// undo ends a sandbox whose start has failed. The start's own context may be the
// reason of the failure, so it is not used.
func (u *up) undo(ctx context.Context, cause error) error {
	said, why := "the start failed", cause.Error()
	if errors.Is(cause, context.Canceled) {
		said = "the start was cancelled"
		why = said
	}
	u.report.Info(StageEnd, "%s; ending the machine", said)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), provision.EndTimeout)
	defer cancel()
	_, err := u.engine.driver.End(ctx, u.rec, why)
	return errors.Join(cause, err)
}
