package runtime

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// stdin is the input of a process. Clients count bytes, so that a repeated
// request is harmless.
type stdin struct {
	mu     sync.Mutex
	w      *os.File
	offset int64
	closed bool
}

var errNotReading = protocol.Errorf(protocol.Conflict, "the process does not read its input (any more)")

// write passes on what of r was not passed on before. It ends early with ctx: a
// process that does not read blocks its writer.
func (s *stdin) write(ctx context.Context, offset int64, r io.Reader, eof bool) (int64, error) {
	if s == nil {
		return 0, errNotReading
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.offset, errNotReading
	}
	if offset > s.offset {
		return s.offset, protocol.Errorf(protocol.Conflict, "input from byte %d was sent, but the process has got only %d", offset, s.offset)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.w.SetWriteDeadline(time.Now()) })
	defer stop()
	if _, err := io.CopyN(io.Discard, r, s.offset-offset); err != nil && !errors.Is(err, io.EOF) {
		return s.offset, err
	}
	n, err := io.Copy(onlyWriter{s.w}, onlyReader{r})
	s.offset += n
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = s.w.SetWriteDeadline(time.Time{})
		return s.offset, ctx.Err()
	}
	if err != nil && isClosedPipe(err) {
		s.shut()
		return s.offset, errNotReading
	}
	if err == nil && eof {
		s.shut()
	}
	return s.offset, err
}

// onlyWriter keeps io.Copy from splicing between files.
type onlyWriter struct{ io.Writer }

func (s *stdin) shut() {
	if !s.closed {
		s.closed = true
		s.w.Close()
	}
}

// close is for the end of the process: a writer that is blocked gives up. It
// does not wait for one whose client is slow.
func (s *stdin) close() {
	if s == nil {
		return
	}
	_ = s.w.SetWriteDeadline(time.Now())
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shut()
	}()
}
