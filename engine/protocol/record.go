package protocol

import (
	"encoding/binary"
	"fmt"
	"io"
)

// RecordStream says what an output record carries.
type RecordStream byte

// The streams of output records.
const (
	RecordStdout RecordStream = 1
	RecordStderr RecordStream = 2
	RecordEnd    RecordStream = 3 // data is the [Process] as JSON
)

// RecordHeader is the size of a record's header: stream, u32 length.
const RecordHeader = 5

// MaxRecord is the most data that one record carries.
const MaxRecord = 1 << 20

// AppendRecord appends one record to buf.
func AppendRecord(buf []byte, s RecordStream, data []byte) []byte {
	buf = append(buf, byte(s))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(data)))
	return append(buf, data...)
}

// RecordReader reads output records. The slice returned by Next is valid until
// the following call.
type RecordReader struct {
	r   io.Reader
	buf []byte
}

// NewRecordReader makes a reader of records.
func NewRecordReader(r io.Reader) *RecordReader { return &RecordReader{r: r} }

// Next reads one record. It returns io.EOF at the end of the stream between two
// records and io.ErrUnexpectedEOF within one.
func (r *RecordReader) Next() (RecordStream, []byte, error) {
	var head [RecordHeader]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	s, n := RecordStream(head[0]), binary.LittleEndian.Uint32(head[1:])
	if s < RecordStdout || s > RecordEnd || n > MaxRecord {
		return 0, nil, fmt.Errorf("output record of stream %d with %d bytes is not valid", s, n)
	}
	if int(n) > cap(r.buf) {
		r.buf = make([]byte, n)
	}
	data := r.buf[:n]
	if _, err := io.ReadFull(r.r, data); err != nil {
		return 0, nil, NoEOF(err)
	}
	return s, data, nil
}
