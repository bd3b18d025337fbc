package xet

import (
	"bytes"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
)

// The limits of the format.
const (
	ChunkHeaderSize = 8
	MaxChunk        = 128 << 10    // raw bytes of a chunk
	MaxPacked       = 2 * MaxChunk // stored bytes of a chunk, without its header
	MaxXorb         = 64 << 20     // stored bytes of a xorb
)

// Compression is how a chunk is stored.
type Compression byte

// The ways to store a chunk.
const (
	Stored     Compression = iota // as it is
	LZ4                           // an LZ4 frame
	GroupedLZ4                    // the first bytes of all groups of four, then the second ones, …; as an LZ4 frame
)

// ChunkHeader stands before each chunk of a xorb.
type ChunkHeader struct {
	Compression Compression
	Packed      int // stored bytes that follow the header
	Raw         int // bytes of the chunk
}

// ParseChunkHeader reads the first ChunkHeaderSize bytes of a stored chunk.
func ParseChunkHeader(b []byte) (ChunkHeader, error) {
	if len(b) < ChunkHeaderSize {
		return ChunkHeader{}, malformed("a chunk header has %d bytes, not %d", ChunkHeaderSize, len(b))
	}
	h := ChunkHeader{Compression: Compression(b[4]), Packed: uint24(b[1:]), Raw: uint24(b[5:])}
	switch {
	case b[0] != 0:
		return h, malformed("version %d of a chunk header is unknown", b[0])
	case h.Compression > GroupedLZ4:
		return h, malformed("compression %d of a chunk is unknown", h.Compression)
	case h.Raw == 0 || h.Raw > MaxChunk:
		return h, malformed("a chunk has 1 to %d bytes, not %d", MaxChunk, h.Raw)
	case h.Packed == 0 || h.Packed > MaxPacked:
		return h, malformed("a chunk is stored in 1 to %d bytes, not %d", MaxPacked, h.Packed)
	case h.Compression == Stored && h.Packed != h.Raw:
		return h, malformed("an uncompressed chunk of %d bytes is stored in %d", h.Raw, h.Packed)
	}
	return h, nil
}

func (h ChunkHeader) append(dst []byte) []byte {
	return append(dst, 0, byte(h.Packed), byte(h.Packed>>8), byte(h.Packed>>16), byte(h.Compression),
		byte(h.Raw), byte(h.Raw>>8), byte(h.Raw>>16))
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// AppendChunk appends raw as it is stored, with its header. A chunk that compression c does not
// make smaller is stored as it is.
func AppendChunk(dst, raw []byte, c Compression) ([]byte, error) {
	if len(raw) == 0 || len(raw) > MaxChunk {
		return nil, malformed("a chunk has 1 to %d bytes, not %d", MaxChunk, len(raw))
	}
	packed := raw
	switch c {
	case LZ4:
		packed = pack(raw)
	case GroupedLZ4:
		grouped := make([]byte, len(raw))
		group(grouped, raw)
		packed = pack(grouped)
	}
	if len(packed) >= len(raw) {
		c, packed = Stored, raw
	}
	dst = ChunkHeader{Compression: c, Packed: len(packed), Raw: len(raw)}.append(dst)
	return append(dst, packed...), nil
}

func pack(raw []byte) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	for _, err := range []error{w.Apply(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(false)), write(w, raw), w.Close()} {
		if err != nil {
			panic(err) // the options are constants, and a buffer takes everything
		}
	}
	return out.Bytes()
}

func write(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

// frame begins every LZ4 frame. The library would also read frames without content and those
// of an older format.
var frame = []byte{0x04, 0x22, 0x4d, 0x18}

// unpack decodes an LZ4 frame that has exactly len(dst) bytes.
func unpack(r *lz4.Reader, dst, packed []byte) error {
	if !bytes.HasPrefix(packed, frame) {
		return malformed("a compressed chunk is not an LZ4 frame")
	}
	src := bytes.NewReader(packed)
	r.Reset(src)
	if _, err := io.ReadFull(r, dst); err != nil {
		return malformed("decompress a chunk of %d bytes: %v", len(dst), err)
	}
	var more [1]byte
	n, err := r.Read(more[:])
	switch {
	case n > 0:
		return malformed("a chunk decompresses to more than the %d bytes that its header says", len(dst))
	case !errors.Is(err, io.EOF):
		return malformed("decompress a chunk of %d bytes: %v", len(dst), err)
	case src.Len() > 0:
		return malformed("%d bytes follow the LZ4 frame of a chunk", src.Len())
	}
	return nil
}

// group writes the bytes of raw at 0, 4, 8, … to dst, then those at 1, 5, 9, …, and so on.
func group(dst, raw []byte) {
	at := 0
	for first := range 4 {
		for i := first; i < len(raw); i += 4 {
			dst[at] = raw[i]
			at++
		}
	}
}

// ungroup undoes group.
func ungroup(dst, grouped []byte) {
	at := 0
	for first := range 4 {
		for i := first; i < len(dst); i += 4 {
			dst[i] = grouped[at]
			at++
		}
	}
}
