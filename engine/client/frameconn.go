package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// FrameConn is a connection straight to the worker of a service. Calls on it
// are made one after the other; it is not safe for concurrent use. [Calls.Do] does
// all that is needed: this is for who must have the connection itself.
type FrameConn struct {
	conn   net.Conn
	r      *bufio.Reader
	client string
	calls  int
	broken atomic.Bool // by the end of a context
	unread string      // the call whose answer the worker has not been told to have arrived
	idle   *time.Timer
}

// Connect makes a connection of its own to the worker of a service: calls on it take one hop
// less. If the machine cannot hand one over, the error has code [protocol.Unsupported]. ctx
// limits only the making.
func (c *Calls) Connect(ctx context.Context, service string) (*FrameConn, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	f := &FrameConn{conn: conn, r: bufio.NewReaderSize(conn, 16<<10), client: protocol.NewID("f")}
	stop := context.AfterFunc(ctx, f.interrupt)
	err = c.upgrade(ctx, f, service)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return f, nil
}

func (c *Calls) upgrade(ctx context.Context, f *FrameConn, service string) error {
	req, err := c.request(ctx, http.MethodGet, servicePath(service)+"/connect", nil, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol.FrameProtocol)
	req.Header.Set(protocol.HeaderClient, c.name)
	if err := req.Write(f.conn); err != nil {
		return c.unreachable(err)
	}
	resp, err := http.ReadResponse(f.r, req)
	if err != nil {
		return c.unreachable(protocol.NoEOF(err))
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		return c.readError(resp)
	}
	return nil
}

// Close closes the connection. A call that runs on it continues for as long as it lingers.
func (f *FrameConn) Close() error {
	if f.idle != nil {
		f.idle.Stop()
	}
	return f.conn.Close()
}

// interrupt ends what waits on the connection.
func (f *FrameConn) interrupt() {
	f.broken.Store(true)
	_ = f.conn.SetDeadline(time.Unix(1, 0))
}

// tell sends a frame that nobody answers, and does not wait long for it.
func (f *FrameConn) tell(kind protocol.FrameKind, id string) error {
	_ = f.conn.SetDeadline(time.Now().Add(2 * time.Second))
	err := protocol.WriteFrame(f.conn, protocol.FrameHeader{Kind: kind, ID: id}, nil)
	_ = f.conn.SetDeadline(time.Time{})
	return err
}

// retire closes a connection that nobody needs any more.
func (f *FrameConn) retire() {
	if f.unread != "" && !f.broken.Load() {
		_ = f.tell(protocol.FrameAck, f.unread) // it is forgotten in the end without
	}
	f.Close()
}

// Call calls a function and reads its answer as JSON. It uses only this connection, and fails
// if the connection breaks. When ctx ends, the call is cancelled and the connection is no
// longer usable.
func (f *FrameConn) Call(ctx context.Context, fn string, args []any, kwargs map[string]any) (json.RawMessage, error) {
	f.calls++
	r := CallRequest{Function: fn, Args: args, Kwargs: kwargs, ID: callName(f.client, f.calls)}
	w, err := newFollower(nil, r, CallHandler{})
	if err != nil {
		return nil, err
	}
	answer, err := w.on(ctx, f)
	var c *cutError
	switch {
	case errors.As(err, &c) && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &c):
		return nil, interrupted("the connection of the call of "+fn+" broke", c.err)
	}
	return answer.JSON(), err
}

// readBody grows with what arrives: a header alone makes nobody reserve gigabytes.
func readBody(r io.Reader, size int64) ([]byte, error) {
	const trusted = 64 << 20
	if size <= trusted {
		data := make([]byte, size)
		_, err := io.ReadFull(r, data)
		return data, protocol.NoEOF(err)
	}
	data := make([]byte, trusted)
	for have := int64(0); ; {
		n, err := io.ReadFull(r, data[have:])
		have += int64(n)
		if err != nil || have == size {
			return data[:have], protocol.NoEOF(err)
		}
		grown := make([]byte, min(size, 4*have))
		copy(grown, data)
		data = grown
	}
}
