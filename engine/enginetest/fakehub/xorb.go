package fakehub

import (
	"io"
	"sort"
	"sync"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

// xetStore has all chunks of the hub, each once.
type xetStore struct {
	xorbSize int64 // raw bytes, after which another xorb begins

	mu     sync.Mutex
	chunks map[xet.Hash]place
	xorbs  map[xet.Hash]*xorb
	files  map[xet.Hash]*xetFile
}

type place struct {
	xorb  *xorb
	index int
}

// xorb knows where its chunks are in the contents of files. It has no bytes of its own.
type xorb struct {
	hash   xet.Hash
	chunks []chunk
	size   int64 // stored
	raw    int64
	tree   xet.Tree
}

type chunk struct {
	content     Content
	offset      int64
	raw, stored int
	at          int64 // in the xorb
	compression xet.Compression
}

type xetFile struct {
	hash  xet.Hash
	size  int64
	terms []term
}

type term struct {
	xorb   *xorb
	chunks xet.ChunkRange
}

func newXetStore(xorbSize int64) *xetStore {
	return &xetStore{xorbSize: xorbSize, chunks: map[xet.Hash]place{}, xorbs: map[xet.Hash]*xorb{}, files: map[xet.Hash]*xetFile{}}
}

// add cuts a file into chunks and stores those that the store lacks. A xorb has chunks of one
// file only.
func (s *xetStore) add(c Content) (*xetFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &xetFile{size: c.Size()}
	var tree xet.Tree
	var open *xorb
	offset := int64(0)
	err := xet.Split(whole(c), func(raw []byte) error {
		hash := xet.ChunkHash(raw)
		tree.Add(xet.Node{Hash: hash, Size: int64(len(raw))})
		at, known := s.chunks[hash]
		if !known {
			if open == nil || open.raw+int64(len(raw)) > s.xorbSize {
				s.seal(open)
				open = &xorb{}
			}
			var err error
			if at, err = open.add(c, offset, raw, hash); err != nil {
				return err
			}
			s.chunks[hash] = at
		}
		f.append(at)
		offset += int64(len(raw))
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.seal(open)
	f.hash = tree.File()
	s.files[f.hash] = f
	return f, nil
}

func (s *xetStore) seal(x *xorb) {
	if x != nil {
		x.hash = x.tree.Xorb()
		s.xorbs[x.hash] = x
	}
}

func (s *xetStore) file(hash xet.Hash) *xetFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[hash]
}

func (s *xetStore) xorb(hash xet.Hash) *xorb {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.xorbs[hash]
}

// add appends a chunk in the form that takes the fewest bytes.
func (x *xorb) add(content Content, offset int64, raw []byte, hash xet.Hash) (place, error) {
	c := chunk{content: content, offset: offset, raw: len(raw), at: x.size}
	for _, way := range []xet.Compression{xet.Stored, xet.LZ4, xet.GroupedLZ4} {
		stored, err := xet.AppendChunk(nil, raw, way)
		if err != nil {
			return place{}, err
		}
		if c.stored == 0 || len(stored) < c.stored {
			c.stored, c.compression = len(stored), way
		}
	}
	x.chunks = append(x.chunks, c)
	x.size += int64(c.stored)
	x.raw += int64(c.raw)
	x.tree.Add(xet.Node{Hash: hash, Size: int64(c.raw)})
	return place{x, len(x.chunks) - 1}, nil
}

// append extends the last term, or begins another one.
func (f *xetFile) append(at place) {
	if last := len(f.terms) - 1; last >= 0 && f.terms[last].xorb == at.xorb && f.terms[last].chunks.End == at.index {
		f.terms[last].chunks.End++
		return
	}
	f.terms = append(f.terms, term{at.xorb, xet.ChunkRange{Start: at.index, End: at.index + 1}})
}

func (t term) length() int64 {
	n := int64(0)
	for _, c := range t.xorb.chunks[t.chunks.Start:t.chunks.End] {
		n += int64(c.raw)
	}
	return n
}

// bytes is where chunks are stored.
func (x *xorb) bytes(r xet.ChunkRange) xet.ByteRange {
	last := x.chunks[r.End-1]
	return xet.ByteRange{First: x.chunks[r.Start].at, Last: last.at + int64(last.stored) - 1}
}

// stored reads a xorb as it is stored. It packs the chunks again that are read. It is for one
// goroutine.
type stored struct {
	xorb  *xorb
	lie   bool // the first chunk that is read has another content
	index int  // of packed
	data  []byte
}

func (s *stored) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		if off >= s.xorb.size {
			return n, io.EOF
		}
		i := sort.Search(len(s.xorb.chunks), func(i int) bool { return s.xorb.chunks[i].at > off }) - 1
		if s.data == nil || i != s.index {
			if s.data, err = s.xorb.chunks[i].pack(s.lie); err != nil {
				return n, err
			}
			s.index, s.lie = i, false
		}
		read := copy(p[n:], s.data[off-s.xorb.chunks[i].at:])
		n, off = n+read, off+int64(read)
	}
	return n, nil
}

func (c chunk) pack(lie bool) ([]byte, error) {
	raw := make([]byte, c.raw)
	if _, err := io.ReadFull(io.NewSectionReader(c.content, c.offset, int64(c.raw)), raw); err != nil {
		return nil, err
	}
	if lie {
		return c.packOther(raw)
	}
	return xet.AppendChunk(nil, raw, c.compression)
}

// packOther packs another content that takes as many bytes. The last bytes of a chunk are
// never compressed.
func (c chunk) packOther(raw []byte) ([]byte, error) {
	for bit := range 8 {
		raw[len(raw)-1] ^= 1 << bit
		data, err := xet.AppendChunk(nil, raw, c.compression)
		if err != nil || len(data) == c.stored {
			return data, err
		}
		raw[len(raw)-1] ^= 1 << bit
	}
	return nil, io.ErrNoProgress
}
