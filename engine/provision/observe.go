package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/sdk"
)

// Observer finds out that a machine has ended, and why.
type Observer struct {
	Provider func(ctx context.Context, name string) (sdk.Provider, error)
	Record   func(id string) (machine.Record, error) // as the ledger has it now
}

// Ended is nil unless the machine of a record that lives is known to have ended.
func (o Observer) Ended(ctx context.Context, r machine.Record) error {
	p, err := o.Provider(ctx, r.Provider)
	if err != nil {
		return nil
	}
	seen, err := p.Observe(ctx, []string{r.Handle})
	if err != nil || len(seen) != 1 || seen[0].State.Live() {
		return nil
	}
	limits, limited := p.(local.Limits)
	return ended(fmt.Sprint("the machine ended: ", cmp.Or(seen[0].Message, "its provider does not say why")), limited && limits.MemoryFull(r.Handle))
}

// endedError says that a machine has ended, and why as far as its provider knows.
type endedError struct {
	text       string
	memoryFull bool
}

func (e *endedError) Error() string { return e.text }

func ended(text string, memoryFull bool) error {
	return &errdefs.Error{Kind: errdefs.KindProvider, Err: &endedError{text, memoryFull}}
}

// Explain puts the end of the machine in the place of what it led to, while it was busy
// with something. Where somebody else has ended it, the ledger says why, a moment later.
// Of one that may be ending the last processes are waited for.
func (o Observer) Explain(ctx context.Context, r machine.Record, while string, cause error, ending bool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	seen := o.Ended(ctx, r)
	for seen == nil && ending && (machine.SystemClock{}).Sleep(ctx, 100*time.Millisecond) == nil {
		seen = o.Ended(ctx, r)
	}
	if seen == nil {
		return cause
	}
	ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		if r, err := o.Record(r.ID); err == nil && !r.Live() {
			return ended(fmt.Sprintf("%s, the sandbox ended: %s", while, r.Message), memoryFull(seen))
		}
		if (machine.SystemClock{}).Sleep(ctx, 50*time.Millisecond) != nil {
			return ended(fmt.Sprintf("%s, %v", while, seen), memoryFull(seen))
		}
	}
}

// memoryFull is whether an error of [Observer.Ended] or [Observer.Explain] says so.
func memoryFull(err error) bool {
	e, ok := errors.AsType[*endedError](err)
	return ok && e.memoryFull
}

// Lifetime is a context that also ends when the machine does, whose requests would
// otherwise be tried again for minutes. The machine is looked at after each pause.
func (o Observer) Lifetime(ctx context.Context, r machine.Record, pause time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if o.Ended(ctx, r) != nil {
				cancel()
				return
			}
		}
	}()
	return ctx, cancel
}
