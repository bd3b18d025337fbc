package value

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Stream is a body that is read part by part, for buffers that are better not held
// in memory.
type Stream struct {
	JSON json.RawMessage
	Size []int64 // of the parts that follow, when decoded

	r       io.Reader
	entries []entry // of the parts that have not been begun
	now     *part   // the one that has
}

// Open reads the beginning of a body of size bytes: all but the parts that follow
// the JSON.
func Open(r io.Reader, size int64, limits Limits) (*Stream, error) {
	start := make([]byte, min(size, startSize))
	if _, err := io.ReadFull(r, start); err != nil {
		return nil, noEOF(err)
	}
	if !bytes.HasPrefix(start, []byte(magic)) {
		return openJSON(r, start, size, limits)
	}
	if len(start) < startSize {
		return nil, malformed("it ends too early")
	}
	n, err := count(start, size)
	if err != nil {
		return nil, err
	}
	list, err := grow(r, n*entrySize)
	if err != nil {
		return nil, err
	}
	entries := table(list)
	if err := check(entries, size, limits); err != nil {
		return nil, err
	}
	s := &Stream{r: r, entries: entries[1:]}
	for _, e := range s.entries {
		s.Size = append(s.Size, e.length)
	}
	s.JSON, err = readPart(io.LimitReader(r, entries[0].stored), entries[0])
	return s, err
}

func openJSON(r io.Reader, start []byte, size int64, limits Limits) (*Stream, error) {
	if size > limits.max() {
		return nil, fmt.Errorf("a value of %d bytes is %w of %d", size, ErrTooLarge, limits.max())
	}
	text, err := grow(io.MultiReader(bytes.NewReader(start), r), size)
	return &Stream{JSON: text}, err
}

// Next is the next part; io.EOF after the last. What has not been read of the one
// before is skipped.
func (s *Stream) Next() (io.Reader, error) {
	if err := s.finish(); err != nil {
		return nil, err
	}
	if len(s.entries) == 0 {
		return nil, io.EOF
	}
	e := s.entries[0]
	s.entries = s.entries[1:]
	p, err := newPart(io.LimitReader(s.r, e.stored), e)
	if err != nil {
		return nil, err
	}
	s.now = p
	return p, nil
}

// finish reads the present part to its end.
func (s *Stream) finish() error {
	p := s.now
	s.now = nil
	if p == nil {
		return nil
	}
	return p.finish()
}

// readPart reads a whole part.
func readPart(r io.Reader, e entry) ([]byte, error) {
	p, err := newPart(r, e)
	if err != nil {
		return nil, err
	}
	data, err := grow(p, e.length)
	if err != nil {
		return nil, err
	}
	return data, p.finish()
}

// part gives exactly as many bytes as the table says.
type part struct {
	stored  io.Reader
	decoded io.Reader
	left    int64
}

func newPart(stored io.Reader, e entry) (*part, error) {
	if e.coding == codingRaw {
		return &part{stored: stored, decoded: stored, left: e.length}, nil
	}
	stored = bufio.NewReader(stored) // so that zlib takes no more than is its own
	p := &part{stored: stored, left: e.length}
	z, err := zlib.NewReader(stored)
	if err != nil {
		return nil, p.fault(err)
	}
	p.decoded = z
	return p, nil
}

func (p *part) Read(buf []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n, err := p.decoded.Read(buf[:min(int64(len(buf)), p.left)])
	p.left -= int64(n)
	if err == nil || p.left == 0 && errors.Is(err, io.EOF) {
		return n, nil
	}
	return n, p.fault(err)
}

// fault tells an end of the connection from a part that is shorter than it says.
func (p *part) fault(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, zlib.ErrChecksum) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrDictionary) || errors.As(err, &corrupt) {
		return malformed("a part cannot be decompressed: %v", err)
	}
	return noEOF(err)
}

// finish skips what has not been read, and refuses more than was announced.
func (p *part) finish() error {
	if _, err := io.Copy(io.Discard, p); err != nil {
		return err
	}
	if p.decoded == p.stored {
		return nil
	}
	switch n, err := p.decoded.Read(make([]byte, 1)); {
	case n != 0:
		return malformed("a part is longer than it says")
	case err != io.EOF: //nolint:errorlint // the end as it is, not one that came too early
		return p.fault(err)
	}
	n, err := io.Copy(io.Discard, p.stored)
	if n != 0 {
		return malformed("a part is shorter than it says")
	}
	return err
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
