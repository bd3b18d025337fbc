// Package call knows which export call is running in this instance. It is apart
// from package stream so that a plugin without streams does not link them.
package call

import (
	"context"
	"sync"
)

// Calls are the calls of one instance: one at a time, many after each other.
type Calls struct {
	mu      sync.Mutex
	cancel  context.CancelFunc // of the running call; nil between two calls
	atBegin []func()
}

// Instance are the calls of this plugin's instance. The exports of a Wasm module
// belong to no value, hence the variable.
var Instance Calls

// Begin starts a call. Its context ends when the host gives the call up, and with
// the function that is returned.
func (c *Calls) Begin() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	c.cancel = cancel
	hooks := c.atBegin
	c.mu.Unlock()
	for _, f := range hooks {
		f()
	}
	return ctx, func() {
		c.mu.Lock()
		c.cancel = nil
		c.mu.Unlock()
		cancel()
	}
}

// AtBegin has f called at the beginning of each later call.
func (c *Calls) AtBegin(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atBegin = append(c.atBegin, f)
}

// Cancel ends the context of the running call.
func (c *Calls) Cancel() {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Running reports whether there is a call.
func (c *Calls) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancel != nil
}
