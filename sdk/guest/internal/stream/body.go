package stream

import (
	"context"
	"io"
	"sync/atomic"
)

// Piece is how many bytes of a body are sent at once.
const Piece = 64 << 10

// body is a response's.
type body struct {
	ctx    context.Context // of the request
	host   string
	ended  error // of a Read behind Close
	stream *Stream
	rest   []byte
	closed atomic.Bool // possibly during Read
}

// Body is the body of an HTTP answer whose head has come. closed is the error of a Read behind
// Close, which gives the request up.
func (s *Stream) Body(ctx context.Context, host string, closed error) io.ReadCloser {
	return &body{ctx: ctx, host: host, ended: closed, stream: s}
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, b.ended
	}
	for len(b.rest) == 0 {
		if len(p) == 0 {
			return 0, nil
		}
		piece, end := b.stream.Next()
		switch {
		case end == nil:
			b.rest = piece
		case end.Err != nil:
			return 0, Failure(b.ctx, b.host, end.Err)
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.closed.Store(true)
	b.stream.Drop(b.ended)
	return nil
}
