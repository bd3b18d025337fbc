package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
)

// whileItLives is a context that also ends when the machine does, whose requests
// would otherwise be tried again for minutes.
func (u *up) whileItLives(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	pause := 10 * time.Second
	if u.engine.plugins.Native(u.rec.Provider) {
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
	err := u.engine.explain(ctx, u.rec, startedWhile, cause, client.Ended(cause))
	if strings.Contains(err.Error(), local.MemoryFull) {
		return &Error{Kind: KindConfig, Err: u.exp.MemoryFull(err)}
	}
	return err
}

// ended is nil unless the machine is known to have ended.
func (u *up) ended(ctx context.Context) error {
	if err := u.engine.ended(ctx, u.rec); err != nil {
		return &Error{Kind: KindProvider, Err: fmt.Errorf("%s, %w", startedWhile, err)}
	}
	return nil
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	_, err := u.engine.driver.End(ctx, u.rec, why)
	return errors.Join(cause, err)
}

// explain puts the end of the machine in the place of what it led to, while it was busy
// with something. Where somebody else has ended it, the ledger says why, a moment later.
// Of one that may be ending the last processes are waited for.
func (e *Engine) explain(ctx context.Context, r machine.Record, while string, cause error, ending bool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	seen := e.ended(ctx, r)
	for seen == nil && ending && (machine.SystemClock{}).Sleep(ctx, 100*time.Millisecond) == nil {
		seen = e.ended(ctx, r)
	}
	if seen == nil {
		return cause
	}
	ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		if r, err := e.ledger.Get(r.ID); err == nil && !r.Live() {
			return &Error{Kind: KindProvider, Err: fmt.Errorf("%s, the sandbox ended: %s", while, r.Message)}
		}
		if (machine.SystemClock{}).Sleep(ctx, 50*time.Millisecond) != nil {
			return &Error{Kind: KindProvider, Err: fmt.Errorf("%s, %w", while, seen)}
		}
	}
}

// ended is nil unless the machine of a record that lives is known to have ended.
func (e *Engine) ended(ctx context.Context, r machine.Record) error {
	p, err := e.plugins.Provider(ctx, r.Provider)
	if err != nil {
		return nil
	}
	seen, err := p.Observe(ctx, []string{r.Handle})
	if err != nil || len(seen) != 1 || seen[0].State.Live() {
		return nil
	}
	return &Error{Kind: KindProvider, Err: fmt.Errorf("the machine ended: %s", orText(seen[0].Message, "its provider does not say why"))}
}
