package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"github.com/seer-engine/seer/engine/protocol"
)

// Whoever detaches a call relies on the answer that the sandbox has it. So the
// worker is asked for the call behind the call itself, on the same connection: when it
// answers, it has taken the call, and written it to its journal.

// patience is how long to wait: as long as the client does, but for a detached call
// that is not kept yet until the request ends.
func (c *relay) patience(ctx, gone context.Context) context.Context {
	if c.header.Kind == protocol.FrameCall && c.header.Detach && !c.kept {
		return gone
	}
	return ctx
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
	c.kept = true
	if len(calls) == 1 && calls[0].State == protocol.CallQueued {
		return protocol.CallQueued, calls[0].Position, nil
	}
	return protocol.CallRunning, nil, nil
}
