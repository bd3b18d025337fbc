package snapshot

import (
	"bufio"
	"context"
	"io"
	"os"
)

// stream runs write into a pipe until it is done or the reader is closed.
func stream(ctx context.Context, write func(context.Context, io.Writer) error, files []*os.File) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	p := newPipe()
	stop := context.AfterFunc(ctx, func() { p.cut(context.Cause(ctx)) })
	go func() {
		defer cancel()
		defer stop()
		err := write(ctx, p)
		closeAll(files)
		p.end(err)
	}()
	return &stopper{p, cancel}
}

type stopper struct {
	*pipe
	cancel context.CancelFunc
}

func (s *stopper) Close() error {
	s.cut(io.ErrClosedPipe)
	s.cancel()
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// patient reads from r until ctx ends, even while a read waits for ever. end is to be
// called when no more is wanted.
func patient(ctx context.Context, r io.Reader) (from io.Reader, end func()) {
	pr, pw := io.Pipe()
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { _ = pr.CloseWithError(ctx.Err()) })
	go func() {
		defer close(done)
		_, err := io.CopyBuffer(struct{ io.Writer }{pw}, struct{ io.Reader }{r}, make([]byte, 1<<20))
		_ = pw.CloseWithError(err)
	}()
	return pr, func() {
		stop()
		_ = pr.Close()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}

// impatient has write write to w until ctx ends, even while w takes nothing for ever.
func impatient(ctx context.Context, w io.Writer, write func(io.Writer) error) error {
	pr, pw := io.Pipe()
	defer context.AfterFunc(ctx, func() { _ = pw.CloseWithError(ctx.Err()) })()
	done := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{pr}, make([]byte, 1<<20))
		_ = pr.CloseWithError(err)
		done <- err
	}()
	buf := bufio.NewWriterSize(pw, 1<<20)
	err := write(buf)
	if err == nil {
		err = buf.Flush()
	}
	_ = pw.CloseWithError(err)
	select {
	case written := <-done:
		if err == nil {
			err = written
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	return err
}
