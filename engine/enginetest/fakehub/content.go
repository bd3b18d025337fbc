package fakehub

import (
	"encoding/binary"
	"io"
	"strings"
)

// Content is what a file holds. It must not change. ReadAt is called concurrently.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Text is content given as a string.
func Text(text string) Content { return strings.NewReader(text) }

// Bytes is content given as bytes.
func Bytes(b []byte) Content { return Text(string(b)) }

// Random is content of size bytes that cannot be compressed: the numbers of SplitMix64 from
// the state seed on. It takes no memory, however large it is.
func Random(size int64, seed uint64) Content { return random{size, seed} }

type random struct {
	size int64
	seed uint64
}

func (r random) Size() int64 { return r.size }

func (r random) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= r.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.size-off))
	var word [8]byte
	for i := 0; i < n; {
		binary.LittleEndian.PutUint64(word[:], splitMix(r.seed, uint64(off+int64(i))/8))
		i += copy(p[i:n], word[(off+int64(i))%8:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// splitMix is number i of the generator.
func splitMix(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// whole reads content from its beginning.
func whole(c Content) *io.SectionReader { return io.NewSectionReader(c, 0, c.Size()) }
