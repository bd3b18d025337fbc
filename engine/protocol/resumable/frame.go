package resumable

import (
	"encoding/binary"
	"fmt"
)

// Version is the version of the conversation on a carrier.
const Version = 1

// Window is the most that one side may send ahead of what the other has read.
const Window = 1 << 20

// maxData is the most data in one frame.
const maxData = 32 << 10

const (
	frameHead = 9 // kind, u64 number
	maxFrame  = frameHead + maxData
)

// kind is what a frame says.
type kind byte

const (
	kindHello kind = 1 + iota // number = bytes received so far, and one more for a fin; first on every carrier
	kindData                  // number = offset of the first byte
	kindAck                   // number = bytes read so far, and one more for a fin
	kindFin                   // number = bytes sent; there are no more
	kindEnd                   // the session is over for both
	kindPing                  // number = anything
	kindPong                  // number = that of the ping
)

type frame struct {
	kind   kind
	number uint64
	data   []byte // of kindData only, at least one byte
}

func appendFrame(buf []byte, k kind, number uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(buf, byte(k)), number)
}

// parseFrame reads one websocket message. The data is a part of b.
func parseFrame(b []byte) (frame, error) {
	if len(b) < frameHead {
		return frame{}, fmt.Errorf("a frame of %d bytes is too short", len(b))
	}
	f := frame{kind: kind(b[0]), number: binary.LittleEndian.Uint64(b[1:])}
	rest := b[frameHead:]
	switch {
	case f.kind < kindHello || f.kind > kindPong:
		return frame{}, fmt.Errorf("a frame of the unknown kind %d", f.kind)
	case f.kind == kindData && (len(rest) == 0 || len(rest) > maxData):
		return frame{}, fmt.Errorf("a frame with %d bytes of data", len(rest))
	case f.kind != kindData && len(rest) > 0:
		return frame{}, fmt.Errorf("a frame of the kind %d with %d bytes too many", f.kind, len(rest))
	case f.number > 1<<62:
		return frame{}, fmt.Errorf("a frame with the impossible number %d", f.number)
	}
	if f.kind == kindData {
		f.data = rest
	}
	return f, nil
}
