// Package retry has the pauses between attempts.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d, or until ctx ends, and then returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return ctx.Err()
}

// Backoff is a pause that doubles with each attempt, from Min to Max. Up to half of it is
// left to chance, so that many clients do not come back at once.
type Backoff struct {
	Min, Max time.Duration
	last     time.Duration
}

// Next is the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, b.Min), b.Max)
	return b.last - rand.N(b.last/2+1)
}

// Wait waits for the next attempt, or until ctx ends, and then returns its error.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Reset begins anew, after something has come of an attempt.
func (b *Backoff) Reset() { b.last = 0 }
