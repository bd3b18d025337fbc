package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

// get takes a connection that carries one call at a time, or makes one. Its end
// cancels nothing by itself.
func (w *worker) get() (net.Conn, error) {
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

// put gives a connection back after a whole answer.
func (w *worker) put(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone() || len(w.idle) >= 16 {
		c.Close()
		return
	}
	w.idle = append(w.idle, c)
}

// tell sends frames that are not answered.
func (w *worker) tell(frames ...protocol.FrameHeader) error {
	conn, err := w.get()
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
	w.put(conn)
	return nil
}

// list asks for the calls that the worker knows: of one token, or all; of one name,
// or all.
func (w *worker) list(ctx context.Context, token, id string) ([]protocol.Call, error) {
	conn, err := w.get()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	calls, err := askCalls(conn, token, id)
	if stop() && err == nil {
		w.put(conn)
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
