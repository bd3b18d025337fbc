package machine

import (
	"context"
	"time"
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
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return ctx.Err()
	}
}
