package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// connect answers frames until the client goes.
func (h *playHandler) connect(w http.ResponseWriter, r *http.Request) {
	s := h.service(w, r)
	if s == nil {
		return
	}
	if r.Header.Get("Upgrade") != protocol.FrameProtocol {
		fail(w, protocol.Errorf(protocol.Unsupported, "this is not a request for %s", protocol.FrameProtocol))
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		fail(w, protocol.Errorf(protocol.Internal, "%v", err))
		return
	}
	defer conn.Close()
	if !h.enter(conn) {
		return
	}
	defer h.leave(conn)
	_ = conn.SetDeadline(time.Time{})
	if _, err := rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol.FrameProtocol + "\r\nSeer: 1\r\n\r\n"); err != nil {
		return
	}
	for rw.Flush() == nil && h.frame(rw, s) == nil { //nolint:revive // the loop is its head
	}
}

func (h *playHandler) enter(conn net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conns == nil {
		h.conns = map[net.Conn]bool{}
	}
	h.conns[conn] = true
	return !h.over
}

func (h *playHandler) leave(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, conn)
}

// frame answers one frame.
func (h *playHandler) frame(rw *bufio.ReadWriter, s *played) error {
	head, size, err := protocol.ReadFrameHeader(rw)
	if err != nil {
		return err
	}
	body := make([]byte, 0, min(size, 1<<20))
	if body, err = appendAll(body, io.LimitReader(rw, size), size); err != nil {
		return err
	}
	switch head.Kind {
	case protocol.FrameCalls:
		data, err := json.Marshal(s.list(""))
		if err != nil {
			return err
		}
		return protocol.WriteFrame(rw, protocol.FrameHeader{Kind: protocol.FrameCalls}, data)
	case protocol.FrameCall:
		v, err := arguments(body, head.Tagged)
		if err != nil {
			return err
		}
		e, cerr := s.answer(head.ID, head.Fn, v)
		return h.reply(rw, head, e, cerr)
	case protocol.FrameAttach:
		s.mu.Lock()
		e := s.ids[head.ID]
		s.mu.Unlock()
		if e == nil {
			return h.reply(rw, head, nil, unknown(head.ID))
		}
		return h.reply(rw, head, e, nil)
	}
	return nil // everything has been answered
}

func (h *playHandler) reply(w io.Writer, head protocol.FrameHeader, e *Entry, cerr *protocol.CallError) error {
	if cerr != nil {
		e = &Entry{State: protocol.CallFailed, Error: cerr}
	}
	events, err := h.player.events(head.ID, e, head.Output)
	if err != nil {
		return err
	}
	return h.player.writeAll(w, events, head.From)
}

// appendAll reads exactly size bytes; memory grows with what arrives.
func appendAll(to []byte, r io.Reader, size int64) ([]byte, error) {
	for {
		if len(to) == cap(to) {
			to = append(to, 0)[:len(to)]
		}
		n, err := r.Read(to[len(to):cap(to)])
		to = to[:len(to)+n]
		if errors.Is(err, io.EOF) {
			if int64(len(to)) < size {
				return nil, io.ErrUnexpectedEOF
			}
			return to, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
