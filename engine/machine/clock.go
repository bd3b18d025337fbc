package machine

import (
	"context"
	"time"

	"github.com/seer-engine/seer/internal/retry"
)

// Clock is time, so that tests need not wait for it.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, or until ctx ends, and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is real time.
type SystemClock struct{}

// Now is the present time.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep waits for d, or until ctx ends.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error { return retry.Sleep(ctx, d) }

// ClockOf shows the time that now gives, and waits in real time.
func ClockOf(now func() time.Time) Clock { return givenClock{now: now} }

type givenClock struct {
	SystemClock
	now func() time.Time
}

func (c givenClock) Now() time.Time { return c.now() }
