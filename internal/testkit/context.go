package testkit

import "context"

// AskedContext calls Asked whenever its error is asked for, such as right before somebody waits for a
// lock. A test so does something at a point of the code under test.
type AskedContext struct {
	context.Context
	Asked func()
}

// Err is that of the context.
func (c AskedContext) Err() error {
	c.Asked()
	return c.Context.Err()
}
