package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/machine"
)

// whileItLives is a context that also ends when the machine does, whose requests
// would otherwise be tried again for minutes.
func (u *up) whileItLives(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	pause := 10 * time.Second
	if u.engine.cheap(u.rec.Provider) {
		pause = time.Second
	}
	go func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if u.ended(ctx) != nil {
				cancel()
				return
			}
		}
	}()
	return ctx, cancel
}

// explain puts the end of the machine in the place of what it led to.
func (u *up) explain(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := u.ended(ctx); err != nil {
		return err
	}
	return cause
}

// ended is nil unless the machine is known to have ended.
func (u *up) ended(ctx context.Context) error {
	if err := u.engine.ended(ctx, u.rec); err != nil {
		return &Error{KindProvider, fmt.Errorf("while it was started, %w", err)}
	}
	return nil
}

// undo ends a sandbox whose start has failed. The start's own context may be the
// reason of the failure, so it is not used.
func (u *up) undo(ctx context.Context, cause error) error {
	u.report.info(StageEnd, "the start failed; ending what was rented")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	why := cause.Error()
	if errors.Is(cause, context.Canceled) {
		why = "the start was cancelled"
	}
	_, err := u.engine.driver.End(ctx, u.rec, why)
	return errors.Join(cause, err)
}

// ended is nil unless the machine of a record that lives is known to have ended.
func (e *Engine) ended(ctx context.Context, r machine.Record) error {
	p, err := e.provider(ctx, r.Provider)
	if err != nil {
		return nil
	}
	seen, err := p.Observe(ctx, []string{r.Handle})
	if err != nil || len(seen) != 1 || seen[0].State.Live() {
		return nil
	}
	return &Error{KindProvider, fmt.Errorf("the machine ended: %s", orText(seen[0].Message, "its provider does not say why"))}
}
