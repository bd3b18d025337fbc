package sdktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seer-engine/seer/internal/retry"
	"github.com/seer-engine/seer/sdk"
)

// Live says how to try a provider with a real account, which costs money: see [LiveChecks].
type Live struct {
	MaxCost float64 // USD; what is rented is ended when it may have cost as much
	Offer   string  // ID; empty = the cheapest of the kit's Query
	Owner   string  // who to rent for; default a new one. [Sweep] ends what it has
}

// sweepTime is how long tidying up goes on.
const sweepTime = 5 * time.Minute

// Sweep ends all machines of an owner and returns their handles. It tries again what
// fails in passing, until nothing that costs money is listed or ctx ends. When that is
// not reached, the error names what is left.
func Sweep(ctx context.Context, p sdk.Provider, owner string) (ended []string, err error) {
	return sweep(ctx, p, owner, retry.Sleep)
}

func sweep(ctx context.Context, p sdk.Provider, owner string, wait func(context.Context, time.Duration) error) (ended []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	asked := map[string]bool{}
	for pause := time.Duration(0); ; pause = min(2*pause+50*time.Millisecond, 5*time.Second) {
		if e := wait(ctx, max(pause, retryAfter(err))); e != nil {
			return ended, fmt.Errorf("machines of %s may still cost money: %w", owner, errors.Join(e, err))
		}
		var left []sdk.Listed
		left, err = p.List(ctx, owner)
		if err != nil {
			if !passing(err) {
				return ended, fmt.Errorf("what %s has rented cannot be listed, and may still cost money: %w", owner, err)
			}
			continue
		}
		live := 0
		for _, m := range left {
			if !m.State.Live() || m.Owner != owner {
				continue
			}
			live++
			if e := p.Terminate(ctx, m.Handle); e != nil {
				err = fmt.Errorf("ending %s: %w", m.Handle, e)
				if !passing(e) {
					return ended, fmt.Errorf("the machine %s of %s could not be ended and may still cost money: %w", m.Handle, owner, e)
				}
			} else if !asked[m.Handle] {
				asked[m.Handle] = true
				ended = append(ended, m.Handle)
			}
		}
		if live == 0 {
			return ended, nil
		}
	}
}

// passing reports whether the engine would call again.
func passing(err error) bool {
	code := sdk.CodeOf(err)
	return code == sdk.RateLimited || code == sdk.Unavailable
}

// retryAfter is how long an error asks to wait.
func retryAfter(err error) time.Duration {
	var e *sdk.Error
	if errors.As(err, &e) {
		return e.After()
	}
	return 0
}
