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
	MaxFrameBody   = 64 << 30
)

// FrameKind is what a frame is for.
type FrameKind string

// The kinds of frames.
const (
	FrameCall   FrameKind = "call"
	FrameAttach FrameKind = "attach" // as a repeated call, but never begins one
	FrameCancel FrameKind = "cancel"
	FrameAck    FrameKind = "ack"   // the answer has arrived
	FrameMore   FrameKind = "more"  // items have been used: there is room again
	FrameCalls  FrameKind = "calls" // asks for the calls, and answers

	FrameQueued  FrameKind = "queued"
	FrameOutput  FrameKind = "output"
	FrameItem    FrameKind = "item"
	FrameResult  FrameKind = "result"
	FrameError   FrameKind = "error"
	FrameWaiting FrameKind = "waiting" // over HTTP: ask again

	// Of a journal only.
	FrameBegin   FrameKind = "begin"
	FrameStarted FrameKind = "started"
	FrameAcked   FrameKind = "acked"
	FrameRefused FrameKind = "refused"
)

// FrameHeader is the JSON header of a frame. Which fields a kind has is said in
// docs/protocol.md.
type FrameHeader struct {
	Kind FrameKind `json:"t"`
	ID   string    `json:"id,omitempty"`
	Fn   string    `json:"fn,omitempty"`
	CallOptions
	N        int     `json:"n,omitempty"`
	Position *int    `json:"position,omitempty"` // calls that go first
	Stream   int     `json:"stream,omitempty"`   // 1 stdout, 2 stderr
	Seconds  float64 `json:"seconds,omitempty"`  // that it ran
	// Of the GPUs, as torch counts it: bytes at most while it ran, and the time for each GPU.
	GPUBytes   int64   `json:"gpu_bytes,omitempty"`
	GPUSeconds float64 `json:"gpu_seconds,omitempty"`

	Error   *CallError `json:"error,omitempty"`
	Token   string     `json:"token,omitempty"` // whose call it is: between runtime and worker, and in a journal
	Time    float64    `json:"time,omitempty"`  // unix seconds; in a journal
	Reason  string     `json:"reason,omitempty"`
	Missing bool       `json:"missing,omitempty"` // the body was too large to be kept
}

// CallOptions are how a call is made. The zero value is a plain call.
type CallOptions struct {
	Tagged      bool     `json:"tagged,omitempty"`       // there are tags in the body
	Timeout     float64  `json:"timeout,omitempty"`      // seconds that it may run; 0 = no limit
	Output      bool     `json:"output,omitempty"`       // the caller wants what is printed
	HandleAbove *int64   `json:"handle_above,omitempty"` // a result of as many bytes stays in the sandbox; nil = none does
	Linger      *float64 `json:"linger,omitempty"`       // seconds that it goes on with nobody waiting
	Detach      bool     `json:"detach,omitempty"`       // it goes on with nobody waiting
	Age         float64  `json:"age,omitempty"`          // seconds since it was first sent; only on a repeat
	From        int      `json:"from,omitempty"`         // the first event that is wanted
	Deflate     bool     `json:"deflate,omitempty"`      // the way is slow
	Ack         []string `json:"ack,omitempty"`          // calls whose answers have arrived
	Client      string   `json:"client,omitempty"`       // whose turn in the queue it takes
}

// FramePrefix is the size of what comes before a frame, in bytes.
const FramePrefix = 12 // u32 header length, u64 body length

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
	var prefix [FramePrefix]byte
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
		return FrameHeader{}, 0, NoEOF(err)
	}
	var h FrameHeader
	if err := json.Unmarshal(head, &h); err != nil {
		return FrameHeader{}, 0, fmt.Errorf("the header of a frame is not valid: %w", err)
	}
	return h, int64(size), nil
}

// NoEOF marks an end in the middle of something as unexpected.
func NoEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
