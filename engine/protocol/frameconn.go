package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Connect asks for a connection of its own to the worker of a service: calls on
// it take one hop less. Where the machine cannot hand one over, the error has
// code [Unsupported].
func (c *Client) Connect(ctx context.Context, service string) (*FrameConn, error) {
	// The context of an upgraded request must live as long as the connection.
	connCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	req, err := c.request(connCtx, http.MethodGet, servicePath(service)+"/connect", nil, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", FrameProtocol)
	resp, err := c.upgrade(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if !stop() {
		resp.Close()
		cancel()
		return nil, ctx.Err()
	}
	return &FrameConn{rw: resp, cancel: cancel}, nil
}

// FrameProtocol is the value of the Upgrade header of a handed-over connection.
const FrameProtocol = "seer-frames/2"

func (c *Client) upgrade(req *http.Request) (io.ReadWriteCloser, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer drain(resp.Body)
		return nil, c.readError(resp)
	}
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		return nil, Errorf(Internal, "the connection to the sandbox could not be upgraded")
	}
	return rw, nil
}

// FrameConn is a connection straight to the worker of a service. Calls on it
// are answered one after the other; it is not safe for concurrent use. After an
// error other than a [*CallError] it must be closed.
type FrameConn struct {
	rw     io.ReadWriteCloser
	cancel context.CancelFunc
	calls  int
}

// Close gives the connection up; a running call is cancelled.
func (f *FrameConn) Close() error {
	defer f.cancel()
	return f.rw.Close()
}

// Call calls a function. When ctx ends, the connection is closed, which cancels
// the call.
func (f *FrameConn) Call(ctx context.Context, fn string, args []any, kwargs map[string]any) (json.RawMessage, error) {
	stop := context.AfterFunc(ctx, func() { f.rw.Close() })
	defer stop()
	result, err := f.call(fn, args, kwargs)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return result, err
}

func (f *FrameConn) call(fn string, args []any, kwargs map[string]any) (json.RawMessage, error) {
	if args == nil {
		args = []any{}
	}
	if kwargs == nil {
		kwargs = map[string]any{}
	}
	body, err := json.Marshal(callBody{Args: args, Kwargs: kwargs})
	if err != nil {
		return nil, Errorf(Invalid, "the arguments of %s cannot be written as JSON: %v", fn, err)
	}
	f.calls++
	if err := WriteFrame(f.rw, FrameHeader{Kind: FrameCall, ID: strconv.Itoa(f.calls), Fn: fn}, body); err != nil {
		return nil, err
	}
	h, size, err := ReadFrameHeader(f.rw)
	if err != nil {
		return nil, &CallError{Code: CallInterrupted, Message: fmt.Sprintf("the worker went away during the call of %s: %v", fn, err)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f.rw, data); err != nil {
		return nil, &CallError{Code: CallInterrupted, Message: fmt.Sprintf("the worker went away during the answer of %s: %v", fn, err)}
	}
	if h.Kind == FrameError && h.Error != nil {
		return nil, h.Error
	}
	return data, nil
}
