package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// beginPatience is how long a call that has not been sent yet waits for a
// connection.
const beginPatience = 15 * time.Second

// again reports whether a call goes on after an error. Otherwise it makes the error
// what the caller is told.
func (f *follower) again(ctx context.Context, err *error) bool {
	var failed *protocol.CallError
	var theirs *itemError
	var cut *cutError
	silence := time.Since(f.heard)
	switch {
	case errors.As(*err, &failed):
		*err = failed
	case errors.As(*err, &theirs):
		if theirs.early {
			f.cancelElsewhere(ctx)
		}
		*err = theirs.err
	case ctx.Err() != nil:
		*err = f.end(ctx)
	case errors.As(*err, &cut) && silence < maxSilence:
		return true
	case errors.As(*err, &cut):
		*err = interrupted(f.lost(), cut.err)
	case !f.sent():
		return passing(*err) && !Ended(*err) && silence < beginPatience
	case Ended(*err):
		*err = interrupted("the sandbox ended during "+f.what(), *err)
	case passing(*err) && silence < maxSilence:
		return true
	case passing(*err):
		*err = interrupted(f.lost(), *err)
	}
	return false
}

func (f *follower) what() string {
	if f.head.Fn == "" {
		return "the call " + f.head.ID
	}
	return "the call of " + f.head.Fn
}

func (f *follower) lost() string {
	return fmt.Sprintf("nothing was heard of %s for %s; its name is %s, should the sandbox come back", f.what(), maxSilence, f.head.ID)
}

// end is why a call is not followed any more. One that may go on is cancelled.
func (f *follower) end(ctx context.Context) error {
	if !f.stays(ctx) {
		f.cancelElsewhere(ctx)
	}
	return ctx.Err()
}

// cancelElsewhere cancels a call that may run in the sandbox, by the runtime. Where that is
// in vain, it ends when it has lingered.
func (f *follower) cancelElsewhere(ctx context.Context) {
	if !f.sent() || f.told {
		return
	}
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = f.c.Cancel(short, f.service, f.head.ID)
}

func interrupted(what string, cause error) *protocol.CallError {
	return &protocol.CallError{Code: protocol.CallInterrupted, Message: fmt.Sprintf("%s (%v); it may have had effects and was not repeated", what, cause)}
}

// itemError is an error of the caller's own functions.
type itemError struct {
	err   error
	early bool // the call has not ended yet
}

func (e *itemError) Error() string { return e.err.Error() }
func (e *itemError) Unwrap() error { return e.err }

// asCut marks a fault of the way, behind which the call may be taken up again.
// What cannot be read is not one.
func asCut(err error) error {
	if err == nil {
		return nil
	}
	var sys syscall.Errno
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, errWaiting), errors.As(err, &op), errors.As(err, &sys), lost(err):
		return &cutError{err}
	}
	return err
}

// saidNo reports whether it was the runtime that refused a connection.
func saidNo(err error) bool {
	var e *protocol.Error
	var t *transportError
	var u *tunnelError
	return !errors.As(err, &t) && !errors.As(err, &u) && errors.As(err, &e)
}

// pieceReader reads the body of one frame and remembers the fault of the way.
type pieceReader struct {
	r    io.Reader
	left int64
	err  error
}

func (p *pieceReader) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, io.EOF
	}
	if int64(len(b)) > p.left {
		b = b[:p.left]
	}
	n, err := p.r.Read(b)
	p.left -= int64(n)
	if err != nil && p.left > 0 {
		p.err = protocol.NoEOF(err)
		return n, p.err
	}
	return n, nil
}

func skipBody(r io.Reader, size int64) error {
	n, err := io.CopyN(io.Discard, r, size)
	if err != nil && n < size {
		return protocol.NoEOF(err)
	}
	return nil
}
