// Package enginetest helps to test programs that embed the engine: a clock that
// does not wait, and a provider that rents nothing but behaves like a cloud, with
// delays and faults on demand.
package enginetest

import (
	"context"
	"sync"
	"time"
)

// Clock is time that passes only when somebody sleeps or calls Advance. Its zero
// value is not ready; use [NewClock].
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that shows a fixed date.
func NewClock() *Clock { return &Clock{now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)} }

// Now is the present time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep lets d pass at once. It returns the error of a context that has ended.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Advance(d)
	return nil
}

// Advance lets d pass.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
