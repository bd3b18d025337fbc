// Package journal reads the journals of calls that the workers of services keep;
// see docs/protocol.md, section 7. It never writes one.
package journal

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/seer-engine/seer/engine/protocol"
)

// Record is what stands in a journal: the header of a frame, and how much body it has.
type Record struct {
	protocol.FrameHeader
	Begin
	Offset int64 // of the record in its segment
	Body   int64 // where its body begins
	Size   int64 // of the body
}

// Begin is what the first record of a segment says besides.
type Begin struct {
	Segment    int                          `json:"segment,omitempty"`
	Generation int                          `json:"generation,omitempty"`
	CodeHash   string                       `json:"code_hash,omitempty"`
	Models     []Model                      `json:"models,omitempty"`
	Datasets   []Model                      `json:"datasets,omitempty"`
	Known      []Known                      `json:"known,omitempty"` // calls of segments that may be gone
	Use        map[string]protocol.TokenUse `json:"use,omitempty"`   // by token
}

// Model is a model or dataset that a service works with. A hidden one has no name.
type Model struct {
	Name     string `json:"name,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// Known is a call whose name is remembered.
type Known struct {
	ID    string
	State protocol.CallState
}

// UnmarshalJSON reads the pair of texts that stands in a journal.
func (k *Known) UnmarshalJSON(data []byte) error {
	var pair [2]string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	k.ID, k.State = pair[0], protocol.CallState(pair[1])
	return nil
}

// MarshalJSON is the reverse of [Known.UnmarshalJSON].
func (k Known) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]string{k.ID, string(k.State)})
}

// End is where the next record begins.
func (r Record) End() int64 { return r.Body + r.Size }

const prefix = 12 // u32 header length, u64 body length

// Reader reads the records of one segment in order. What is left of a body when the
// next record is asked for is passed over, without reading it where the source can
// seek.
type Reader struct {
	seek io.Seeker // nil = it cannot
	buf  *bufio.Reader
	at   int64 // of the source's next byte, as the caller sees it
	next int64 // where the next record begins
	end  int64 // of the last whole record
}

// NewReader reads a segment from a record that begins at the given offset; the
// source stands there. The source may end in the middle of a record.
func NewReader(r io.Reader, offset int64) *Reader {
	s, _ := r.(io.Seeker)
	return &Reader{seek: s, buf: bufio.NewReaderSize(r, 32<<10), at: offset, next: offset, end: offset}
}

// ErrDamaged is in the chain of the error about a record that is not one.
var ErrDamaged = errors.New("the journal is damaged")

// Next returns the next record. io.EOF is the end, io.ErrUnexpectedEOF one within a
// record, as a worker that was killed leaves it: [Reader.Offset] then tells where to
// go on once there is more.
func (r *Reader) Next() (Record, error) {
	if err := r.skip(); err != nil {
		return Record{}, err
	}
	r.end = r.next
	var head [prefix]byte
	if n, err := io.ReadFull(r.buf, head[:]); err != nil {
		r.at += int64(n)
		return Record{}, err
	}
	n, size := binary.LittleEndian.Uint32(head[:4]), binary.LittleEndian.Uint64(head[4:])
	if n > protocol.MaxFrameHeader || size > protocol.MaxFrameBody {
		return Record{}, fmt.Errorf("%w: a record of %d+%d bytes at %d", ErrDamaged, n, size, r.next)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r.buf, data); err != nil {
		return Record{}, cut(err)
	}
	rec := Record{Offset: r.next, Body: r.next + prefix + int64(n), Size: int64(size)}
	if err := json.Unmarshal(data, &rec); err != nil {
		return Record{}, fmt.Errorf("%w: the record at %d: %w", ErrDamaged, r.next, err)
	}
	r.at, r.next = rec.Body, rec.End()
	return rec, nil
}

// UnmarshalJSON reads a header; where the record is does not stand in it.
func (r *Record) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &r.FrameHeader); err != nil {
		return err
	}
	if r.Kind != protocol.FrameBegin {
		return nil
	}
	return json.Unmarshal(data, &r.Begin)
}

// Read reads the body of the present record.
func (r *Reader) Read(p []byte) (int, error) {
	left := r.next - r.at
	if left == 0 {
		return 0, io.EOF
	}
	n, err := r.buf.Read(p[:min(int64(len(p)), left)])
	r.at += int64(n)
	if n > 0 {
		return n, nil
	}
	return n, cut(err)
}

// Offset is where the record begins that was returned last, once the one after it
// has been asked for in vain: everything before it has been read whole.
func (r *Reader) Offset() int64 { return r.end }

// skip passes over the rest of a body. Whether it is there shows only by reading
// its last byte.
func (r *Reader) skip() error {
	left := r.next - r.at
	if left == 0 {
		return nil
	}
	if ahead := left - int64(r.buf.Buffered()); r.seek != nil && ahead > 1 {
		if _, err := r.seek.Seek(ahead-1, io.SeekCurrent); err != nil {
			return err
		}
		r.buf.Reset(r.seek.(io.Reader))
		r.at, left = r.next-1, 1
	}
	n, err := io.CopyN(io.Discard, r.buf, left)
	r.at += n
	return cut(err)
}

// cut marks an end in the middle of a record.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
