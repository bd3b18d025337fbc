// Package spool keeps the output of processes on disk for readers that come and go.
package spool

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/osfile"
)

// Spool keeps output records on disk and lets any number of readers follow.
// Offsets never change. A file without a name leaves nothing when the runtime dies;
// one with a name is gone on with.
type Spool struct {
	keep     int64 // beyond this the oldest records are dropped; 0 = never
	maxAhead int64 // how far the writer may be ahead of the reader; 0 = any

	mu      sync.Mutex
	f       *os.File
	path    string  // where it outlives the runtime; empty = it has no name
	base    int64   // first byte that is still there
	size    int64   // bytes on disk
	marks   []int64 // some beginnings of records, for dropping up to one
	tail    []byte  // records that follow what is on disk: the disk is full, or the end
	lost    bool
	ended   bool
	read    int64         // how far anyone has read
	changed chan struct{} // closed at every change
}

const markEvery = 1 << 20

// New makes a spool in a file without a name. Beyond keep bytes it drops the oldest records,
// and its writer is at most maxAhead bytes ahead of its reader; 0 = no limit.
func New(dir string, keep, maxAhead int64) (*Spool, error) {
	f, err := osfile.Unnamed(dir, "output-*")
	if err != nil {
		return nil, err
	}
	return &Spool{f: f, keep: keep, maxAhead: maxAhead, changed: make(chan struct{})}, nil
}

// Open goes on with the records that a runtime before this one has written, or
// makes a new file.
func Open(path string, keep int64) (*Spool, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	s := &Spool{f: f, path: path, keep: keep, changed: make(chan struct{})}
	if data, err := os.ReadFile(baseOf(path)); err == nil && len(data) == 8 {
		s.base = int64(binary.LittleEndian.Uint64(data))
	}
	for s.size = s.base; ; {
		var head [protocol.RecordHeader]byte
		if _, err := f.ReadAt(head[:], s.size); err != nil || head[0] < 1 || head[0] > 2 {
			break
		}
		end := s.size + protocol.RecordHeader + int64(binary.LittleEndian.Uint32(head[1:]))
		if info, err := f.Stat(); err != nil || end > info.Size() {
			break
		}
		s.mark()
		s.size = end
	}
	if err := f.Truncate(s.size); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// baseOf is the file that says what has been dropped of a spool.
func baseOf(path string) string {
	return filepath.Join(filepath.Dir(path), "base-"+filepath.Base(path))
}

// Remove takes the file away.
func (s *Spool) Remove() {
	if s.path != "" {
		_ = os.Remove(s.path)
		_ = os.Remove(baseOf(s.path))
	}
}

func (s *Spool) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Stream is a writer that makes records of one stream. Writing to it never
// fails: a program must not notice that the disk is full of its output.
func (s *Spool) Stream(kind protocol.RecordStream) io.Writer { return &spoolStream{s, kind} }

type spoolStream struct {
	s    *Spool
	kind protocol.RecordStream
}

func (w *spoolStream) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 64<<10)
		w.s.append(w.kind, rest[:n])
		rest = rest[n:]
	}
	return len(data), nil
}

func (s *Spool) append(kind protocol.RecordStream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.maxAhead > 0 && !s.ended && s.size-s.read > s.maxAhead {
		changed := s.changed
		s.mu.Unlock()
		<-changed
		s.mu.Lock()
	}
	if s.ended || s.lost {
		return
	}
	record := protocol.AppendRecord(nil, kind, data)
	if _, err := s.f.WriteAt(record, s.size); err != nil {
		s.lost = true
		note := fmt.Sprintf("seer: the output that follows is lost: %v\n", err)
		s.tail = protocol.AppendRecord(s.tail, protocol.RecordStderr, []byte(note))
	} else {
		s.mark()
		s.size += int64(len(record))
		s.drop()
	}
	s.notify()
}

func (s *Spool) mark() {
	if n := len(s.marks); n == 0 || s.size-s.marks[n-1] >= markEvery {
		s.marks = append(s.marks, s.size)
	}
}

// drop gives up the oldest records. Where the file system cannot take the space
// back, the file keeps it until the spool is closed.
func (s *Spool) drop() {
	for s.keep > 0 && s.size-s.base > s.keep && len(s.marks) > 1 {
		s.marks = s.marks[1:]
		s.base = s.marks[0]
		if s.path != "" {
			_ = os.WriteFile(baseOf(s.path), binary.LittleEndian.AppendUint64(nil, uint64(s.base)), 0o600) // at worst, zeros are taken for an end
		}
		_ = osfile.PunchHole(s.f, s.base)
	}
}

// End appends the end record. It stays in memory, so that it always fits.
func (s *Spool) End(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.tail = protocol.AppendRecord(s.tail, protocol.RecordEnd, data)
		s.ended = true
		s.notify()
	}
}

// Release lets a writer that waits for readers go on; nobody will come.
func (s *Spool) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxAhead = 0
	s.notify()
}

// Size is the offset of the end: all bytes that were ever in the spool.
func (s *Spool) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size + int64(len(s.tail))
}

// First is the offset to really begin with.
func (s *Spool) First(offset int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(offset, s.base), s.size+int64(len(s.tail)))
}

// CopyTo writes records from offset on. With follow it goes on until the end
// record or ctx. It reports whether the end record was written.
func (s *Spool) CopyTo(ctx context.Context, w io.Writer, flush func() error, offset int64, follow bool) (bool, error) {
	buf := make([]byte, 64<<10)
	for {
		n, last, changed, err := s.readAt(buf, offset)
		if err != nil {
			return false, err
		}
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return false, err
			}
			offset += int64(n)
			continue
		}
		if err := flush(); err != nil || last || !follow {
			return last, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// readAt fills buf from offset; zero bytes mean that there is no more, and last
// that there never will be.
func (s *Spool) readAt(buf []byte, offset int64) (n int, last bool, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if offset < s.base {
		return 0, false, nil, protocol.Errorf(protocol.NotFound, "this part of the output has been dropped; it begins at %d now", s.base)
	}
	if offset > s.read {
		s.read = offset
		if s.maxAhead > 0 {
			s.notify()
		}
	}
	if offset < s.size {
		n, err = s.f.ReadAt(buf[:min(int64(len(buf)), s.size-offset)], offset)
		return n, false, s.changed, err
	}
	if at := offset - s.size; at < int64(len(s.tail)) {
		return copy(buf, s.tail[at:]), false, s.changed, nil
	}
	return 0, s.ended, s.changed, nil
}

// Close ends the spool for readers and writers. A file with a name stays.
func (s *Spool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.f.Close()
	s.notify()
}
