package callproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// A detached call is acknowledged only after it has been journaled. So the runtime asks the
// worker for the call right behind the call itself, on the same connection: when the worker
// answers, it has taken the call and written it to its journal. The runtime asks for any other
// named call when the time is over and the worker has not mentioned it: a client that learns
// that its call waits asks for it next, on another connection, which may be read before this one.

// patience is how long to wait: as long as the client does, but for a detached call
// that is not kept yet until the request ends.
func (c *relay) patience(ctx, gone context.Context) context.Context {
	if c.header.Kind == protocol.FrameCall && c.header.Detach && !c.kept {
		return gone
	}
	return ctx
}

// maxGrace bounds the wait for a worker's word beyond what the client is ready to wait: a
// function may keep its whole process busy, and clients give up some time after.
const maxGrace = 15 * time.Second

// unsure reports whether a worker may not have read the call yet.
func (c *relay) unsure() bool {
	return c.header.Kind == protocol.FrameCall && c.named && !c.heard && !c.asked
}

// ask asks for the call behind the call itself.
func (c *relay) ask(conn net.Conn) error {
	c.asked = true
	if err := protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameCalls, ID: c.header.ID, Token: c.header.Token}, nil); err != nil {
		return fmt.Errorf("%w: %w", errWorkerGone, err)
	}
	return nil
}

// keep takes the worker's word that it has the call, and says where that stands.
func (c *relay) keep(conn net.Conn, f frameIn) (protocol.CallState, *int, error) {
	var calls []protocol.Call
	data, err := io.ReadAll(io.LimitReader(conn, f.size))
	if err == nil {
		err = json.Unmarshal(data, &calls)
	}
	if err != nil {
		return protocol.CallRunning, nil, fmt.Errorf("%w: %w", errWorkerGone, err)
	}
	if f.h.ID != c.header.ID {
		return protocol.CallRunning, nil, nil
	}
	c.kept, c.asked = true, false
	if len(calls) == 1 && calls[0].State == protocol.CallQueued {
		return protocol.CallQueued, calls[0].Position, nil
	}
	return protocol.CallRunning, nil, nil
}
