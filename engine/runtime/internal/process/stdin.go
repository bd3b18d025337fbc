package process

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/osfile"
)

// stdin is the input of a process. Clients count bytes, so that a repeated
// request is harmless.
type stdin struct {
	w        *os.File
	terminal bool // which has no end but a character that says so

	mu     sync.Mutex
	offset int64
	middle bool // of a line
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
	n, err := io.Copy(stdinWriter{s}, osfile.OnlyReader{Reader: r})
	s.offset += n
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = s.w.SetWriteDeadline(time.Time{})
		return s.offset, ctx.Err()
	}
	if err != nil && osfile.IsClosedPipe(err) {
		s.shut()
		return s.offset, errNotReading
	}
	if err == nil && eof {
		err = s.end()
	}
	return s.offset, err
}

// endOfInput is what terminals take for the end at the beginning of a line; elsewhere it
// ends the line without a newline.
const endOfInput = "\x04"

// end says that nothing follows.
func (s *stdin) end() error {
	var err error
	if s.terminal {
		text := endOfInput
		if s.middle {
			text += endOfInput
		}
		_, err = io.WriteString(s.w, text)
	}
	s.shut()
	return err
}

// stdinWriter notes how the input ends. It also keeps io.Copy from splicing between files.
type stdinWriter struct{ s *stdin }

func (w stdinWriter) Write(p []byte) (int, error) {
	n, err := w.s.w.Write(p)
	if n > 0 {
		w.s.middle = p[n-1] != '\n' && p[n-1] != '\r'
	}
	return n, err
}

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
