package xet

import (
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// Decoder reads the chunks of a xorb, or of a part of one. It holds one chunk at a time.
type Decoder struct {
	r       io.Reader
	left    int64 // stored bytes until the limit
	lz4     *lz4.Reader
	packed  []byte
	grouped []byte
	raw     []byte
}

// NewDecoder makes a decoder of at most MaxXorb stored bytes. It reads from r no more than the
// chunks that are asked for.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{r: r, left: MaxXorb, lz4: lz4.NewReader(nil)}
}

// Chunk is a decoded chunk.
type Chunk struct {
	Raw    []byte // valid until the next call of Next
	Stored int    // bytes in the xorb, with the header
}

// Next returns the next chunk. After the last one it returns io.EOF; an input that ends within
// a chunk is io.ErrUnexpectedEOF, and one that breaks the format is ErrMalformed.
func (d *Decoder) Next() (Chunk, error) {
	var b [ChunkHeaderSize]byte
	if _, err := io.ReadFull(d.r, b[:]); err != nil {
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return Chunk{}, io.EOF
		}
		return Chunk{}, fmt.Errorf("read a chunk header: %w", err)
	}
	h, err := ParseChunkHeader(b[:])
	if err != nil {
		return Chunk{}, err
	}
	stored := ChunkHeaderSize + h.Packed
	if d.left -= int64(stored); d.left < 0 {
		return Chunk{}, malformed("a xorb has at most %d bytes", MaxXorb)
	}
	d.packed = resize(d.packed, h.Packed)
	if _, err := io.ReadFull(d.r, d.packed); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Chunk{}, fmt.Errorf("read a chunk: %w", err)
	}
	raw, err := d.decode(h)
	return Chunk{raw, stored}, err
}

func (d *Decoder) decode(h ChunkHeader) ([]byte, error) {
	if h.Compression == Stored {
		return d.packed, nil
	}
	d.raw = resize(d.raw, h.Raw)
	if h.Compression == LZ4 {
		return d.raw, unpack(d.lz4, d.raw, d.packed)
	}
	d.grouped = resize(d.grouped, h.Raw)
	if err := unpack(d.lz4, d.grouped, d.packed); err != nil {
		return nil, err
	}
	ungroup(d.raw, d.grouped)
	return d.raw, nil
}

func resize(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
