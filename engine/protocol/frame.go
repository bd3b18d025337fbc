package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits of a frame. One that is larger closes its connection.
const (
	MaxFrameHeader = 1 << 20
	MaxFrameBody   = 4 << 30
)

// FrameKind is what a frame is for.
type FrameKind string

// The kinds of frames.
const (
	FrameCall   FrameKind = "call"
	FrameCancel FrameKind = "cancel"
	FrameResult FrameKind = "result"
	FrameError  FrameKind = "error"
)

// FrameHeader is the JSON header of a frame.
type FrameHeader struct {
	Kind    FrameKind  `json:"t"`
	ID      string     `json:"id"`
	Fn      string     `json:"fn,omitempty"`
	Timeout float64    `json:"timeout,omitempty"` // seconds; 0 = none
	Tagged  bool       `json:"tagged,omitempty"`
	Error   *CallError `json:"error,omitempty"`
}

const framePrefix = 12 // u32 header length, u64 body length

// WriteFrameHeader begins a frame; size bytes of body must follow.
func WriteFrameHeader(w io.Writer, h FrameHeader, size int64) error {
	buf, err := appendFrameHeader(nil, h, size)
	if err != nil {
		return err
	}
	_, err = w.Write(buf)
	return err
}

// WriteFrame writes a whole frame in one go.
func WriteFrame(w io.Writer, h FrameHeader, body []byte) error {
	buf, err := appendFrameHeader(nil, h, int64(len(body)))
	if err != nil {
		return err
	}
	// Small frames leave as one segment; large bodies are not copied.
	if len(body) <= 64<<10 {
		_, err = w.Write(append(buf, body...))
		return err
	}
	if _, err = w.Write(buf); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

func appendFrameHeader(buf []byte, h FrameHeader, size int64) ([]byte, error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(head) > MaxFrameHeader {
		return nil, fmt.Errorf("the header of a frame has %d bytes, more than the %d allowed", len(head), MaxFrameHeader)
	}
	if size < 0 || size > MaxFrameBody {
		return nil, fmt.Errorf("the body of a frame has %d bytes, more than the %d allowed", size, int64(MaxFrameBody))
	}
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(head)))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(size))
	return append(buf, head...), nil
}

// ReadFrameHeader reads the beginning of a frame and the size of the body that
// follows. It returns io.EOF at the end of the stream between two frames.
func ReadFrameHeader(r io.Reader) (FrameHeader, int64, error) {
	var prefix [framePrefix]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return FrameHeader{}, 0, err
	}
	n := binary.LittleEndian.Uint32(prefix[:4])
	size := binary.LittleEndian.Uint64(prefix[4:])
	if n > MaxFrameHeader || size > MaxFrameBody {
		return FrameHeader{}, 0, fmt.Errorf("a frame of %d+%d bytes is larger than the protocol allows", n, size)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(r, head); err != nil {
		return FrameHeader{}, 0, noEOF(err)
	}
	var h FrameHeader
	if err := json.Unmarshal(head, &h); err != nil {
		return FrameHeader{}, 0, fmt.Errorf("the header of a frame is not valid: %w", err)
	}
	return h, int64(size), nil
}

// noEOF marks an end in the middle of something as unexpected.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
