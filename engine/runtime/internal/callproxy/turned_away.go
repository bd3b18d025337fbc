package callproxy

import (
	"context"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// drainingType marks the answer `busy` of a worker that another one replaces.
const drainingType = "leaving"

// turnedAway reports whether the frame says that the call did not begin, and belongs to
// the next worker.
func (f *frameIn) turnedAway(id string) bool {
	e := f.h.Error
	return f.h.ID == id && f.h.Kind == protocol.FrameError && e != nil && e.Code == protocol.CallBusy && e.Type == drainingType
}

// elsewhere waits a moment before a call that was turned away is taken to another
// worker. It reports whether the client waits no longer, and has been told.
func (c *relay) elsewhere(ctx, gone context.Context) (bool, error) {
	select {
	case <-gone.Done():
		return true, gone.Err()
	case <-time.After(20 * time.Millisecond):
	}
	if c.named && c.patience(ctx, gone).Err() != nil { // who detaches a call is told nothing before it is kept
		return true, c.out.wait(protocol.CallQueued, nil, c.next)
	}
	return false, nil
}
