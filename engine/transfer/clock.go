package transfer

import (
	"context"
	"time"
)

// clock is the time, so that tests need not wait.
type clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) timer
}

type timer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

type systemClock struct{}

func (systemClock) Now() time.Time                            { return time.Now() }
func (systemClock) AfterFunc(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }

// sleep waits for d, or until ctx ends, and then returns its error.
func sleep(ctx context.Context, c clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	over := make(chan struct{})
	t := c.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-over:
	}
	return ctx.Err()
}
