package snapshot

import (
	"bufio"
	"context"
	"io"
	"os"
)

// contextReader ends a long read when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// stream runs write into a pipe until it is done or the reader is closed.
func stream(ctx context.Context, write func(context.Context, io.Writer) error, files []*os.File) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = pw.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer cancel()
		defer stop()
		buf := bufio.NewWriterSize(pw, 1<<20)
		err := write(ctx, buf)
		if err == nil {
			err = buf.Flush()
		}
		closeAll(files)
		_ = pw.CloseWithError(err)
	}()
	return &stopper{pr, cancel}
}

type stopper struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (s *stopper) Close() error {
	s.cancel()
	return s.PipeReader.Close()
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
