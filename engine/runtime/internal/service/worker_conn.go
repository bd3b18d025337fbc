package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

// Conn takes a connection that carries one call at a time, or makes one. Its end
// cancels nothing by itself.
func (w *Worker) Conn() (net.Conn, error) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		return c, nil
	}
	w.mu.Unlock()
	near, far, err := unixsocket.Pair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	if err := w.send(controlLine{Kind: "conn", Runtime: true}, far); err != nil {
		near.Close()
		return nil, err
	}
	return near, nil
}

// PutConn gives a connection back after a whole answer.
func (w *Worker) PutConn(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Gone() || len(w.idle) >= 16 {
		c.Close()
		return
	}
	w.idle = append(w.idle, c)
}

// tell sends frames that are not answered.
func (w *Worker) tell(frames ...protocol.FrameHeader) error {
	conn, err := w.Conn()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, h := range frames {
		if err := protocol.WriteFrame(&out, h, nil); err != nil {
			return err
		}
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		conn.Close()
		return err
	}
	w.PutConn(conn)
	return nil
}

// List asks for the calls that the worker knows: of one token, or all; of one name,
// or all.
func (w *Worker) List(ctx context.Context, token, id string) ([]protocol.Call, error) {
	conn, err := w.Conn()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	calls, err := askCalls(conn, token, id)
	if stop() && err == nil {
		w.PutConn(conn)
	} else {
		conn.Close()
	}
	return calls, err
}

func askCalls(conn net.Conn, token, id string) ([]protocol.Call, error) {
	if err := protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameCalls, ID: id, Token: token}, nil); err != nil {
		return nil, err
	}
	for {
		h, size, err := protocol.ReadFrameHeader(conn)
		if err != nil {
			return nil, err
		}
		body := io.LimitReader(conn, size)
		if h.Kind != protocol.FrameCalls { // late, of a call before
			if _, err := io.Copy(io.Discard, body); err != nil {
				return nil, err
			}
			continue
		}
		var calls []protocol.Call
		data, err := io.ReadAll(body)
		if err == nil {
			err = json.Unmarshal(data, &calls)
		}
		if err != nil {
			return nil, fmt.Errorf("the worker's list of calls: %w", err)
		}
		return calls, nil
	}
}

// Cancel ends a call, and lets the worker forget its answer.
func (w *Worker) Cancel(ctx context.Context, token, id string) error {
	calls, err := w.List(ctx, token, id)
	if err != nil {
		return protocol.Errorf(protocol.Unavailable, "the worker does not answer: %v", err)
	}
	if len(calls) > 0 {
		token = calls[0].Token // without one, the worker takes the caller for main, which owns no other's call
	}
	cancel := protocol.FrameHeader{Kind: protocol.FrameCancel, ID: id, Token: token}
	ack := protocol.FrameHeader{Kind: protocol.FrameAck, ID: id, Token: token}
	switch {
	case len(calls) == 0:
		err = &protocol.CallError{Code: protocol.CallUnknown, Message: "no call " + id + " is known here"}
	case calls[0].State == protocol.CallQueued || calls[0].State == protocol.CallRunning:
		err = w.tell(cancel)
	default:
		err = w.tell(ack)
	}
	if err != nil && !errors.As(err, new(*protocol.CallError)) {
		return protocol.Errorf(protocol.Unavailable, "the worker does not answer: %v", err)
	}
	return err
}

// HandOver gives the worker a connection of a client. The worker itself says yes: a client that
// has no answer then knows that nothing of its call can have run in a worker that was dying. With
// all, the client may follow the calls of all tokens.
func (w *Worker) HandOver(f *os.File, upgrade, token, client string, all bool) error {
	yes := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + upgrade + "\r\n\r\n"
	return w.send(controlLine{Kind: "conn", Hello: yes, Token: token, Client: client, All: all}, f)
}
