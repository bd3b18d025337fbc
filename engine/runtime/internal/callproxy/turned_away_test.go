package callproxy

import (
	"context"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

// TestDetachedCallIsTurnedAway: who does not wait for it is told nothing before a worker
// has it.
func TestDetachedCallIsTurnedAway(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c := &relay{named: true, out: &jsonAnswer{}, header: protocol.FrameHeader{Kind: protocol.FrameCall, ID: "call-1"}}
	c.header.Detach = true
	if done, err := c.elsewhere(over, t.Context()); done || err != nil {
		t.Errorf("%v %v", done, err)
	}
	if done, err := c.elsewhere(over, over); !done || err == nil {
		t.Errorf("the request has ended: %v %v", done, err)
	}
	away := frameIn{h: protocol.FrameHeader{Kind: protocol.FrameError, ID: "call-1", Error: &protocol.CallError{Code: protocol.CallBusy, Type: drainingType}}}
	if !away.turnedAway("call-1") || away.turnedAway("call-2") {
		t.Error("another call was turned away")
	}
}
