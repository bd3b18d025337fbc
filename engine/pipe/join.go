package pipe

import (
	"encoding/binary"
	"io"
)

// joined writes the header of a frame of yamux together with its data. yamux writes one after the
// other, and each write is a message of its own on the way through a cluster.
type joined struct {
	io.ReadWriteCloser
	held []byte // a header whose data comes next
}

// headerSize, and what a header begins with, are of the protocol of yamux.
const (
	headerSize  = 12
	version     = 0
	typeOfData  = 0
	lengthBegin = 8
)

// Write is called by one goroutine, that of the session.
func (j *joined) Write(p []byte) (int, error) {
	if len(j.held) == 0 && len(p) == headerSize && p[0] == version && p[1] == typeOfData && binary.BigEndian.Uint32(p[lengthBegin:]) > 0 {
		j.held = append(j.held, p...)
		return len(p), nil
	}
	if len(j.held) == 0 {
		return j.ReadWriteCloser.Write(p)
	}
	before := len(j.held)
	j.held = append(j.held, p...)
	n, err := j.ReadWriteCloser.Write(j.held)
	j.held = j.held[:0]
	return max(0, n-before), err
}
