package callproxy

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/seer-engine/seer/internal/osfile"
)

// store keeps bytes: a few in memory, more in a file without a name.
type store struct {
	dir  string
	mem  []byte
	f    *os.File
	size int64

	quota *quota // of what is written into the file; nil = none
	owner string
	taken int64
	done  func() // the file is needed no more; nil = nobody wants to know
}

const storeInMemory = 64 << 10

func (s *store) Write(p []byte) (int, error) {
	if s.f == nil && len(s.mem)+len(p) <= storeInMemory {
		s.mem = append(s.mem, p...)
		s.size += int64(len(p))
		return len(p), nil
	}
	if err := s.spill(); err != nil {
		return 0, err
	}
	if err := s.take(int64(len(p))); err != nil {
		return 0, err
	}
	if err := fits(s.f, len(p)); err != nil {
		return 0, err
	}
	n, err := s.f.WriteAt(p, s.size)
	s.size += int64(n)
	return n, err
}

// ReadFrom takes everything in. A call that waits must not hold more than it is, so
// the memory grows from little.
func (s *store) ReadFrom(r io.Reader) (int64, error) {
	buf, had := make([]byte, 512), s.size
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := s.Write(buf[:n]); werr != nil {
				return s.size - had, werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.size - had, nil
		case err != nil:
			return s.size - had, err
		case n == len(buf) && n < 64<<10:
			buf = make([]byte, 8*n)
		}
	}
}

func (s *store) spill() error {
	if s.f != nil {
		return nil
	}
	f, err := osfile.Unnamed(s.dir, "call-*")
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(s.mem, 0); err != nil {
		f.Close()
		return err
	}
	s.f, s.mem = f, nil
	return nil
}

func (s *store) take(n int64) error {
	if s.quota == nil {
		return nil
	}
	if err := s.quota.grow(s.owner, n); err != nil {
		return err
	}
	s.taken += n
	return nil
}

// reader reads all that has been written.
func (s *store) reader() io.Reader {
	if s.f == nil {
		return bytes.NewReader(s.mem)
	}
	return io.NewSectionReader(s.f, 0, s.size)
}

func (s *store) close() {
	if s.f != nil {
		s.f.Close()
	}
	if s.done != nil {
		s.done()
	}
	if s.taken > 0 {
		s.quota.shrink(s.owner, s.taken)
		s.taken = 0
	}
	s.f, s.mem = nil, nil
}
