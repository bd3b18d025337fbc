package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const longestFill = 200 * time.Millisecond // before a buffer that is not full is written

// body is the content of an answer on its way into the file.
type body struct {
	file  *file
	job   *job
	name  string // of the server
	limit int64  // where in the file it ends
	from  io.Reader
}

// watched counts what a server sends. The stall timer runs while it reads, and not while
// the disk takes its time.
type watched struct {
	r        io.Reader
	host     *host
	stall    timer
	patience time.Duration
}

func (w *watched) Read(b []byte) (int, error) {
	w.stall.Reset(w.patience)
	n, err := w.r.Read(b)
	w.stall.Stop()
	if n > 0 {
		w.host.received(int64(n))
	}
	return n, err
}

// read stores what arrives, under the context of the file: the one of the request ends
// when the server stalls.
func (b *body) read(ctx, request context.Context) error {
	buf, err := b.file.run.pool.get(ctx)
	if err != nil {
		return err
	}
	defer b.file.run.pool.put(buf)
	at := b.job.start
	if b.job.whole {
		at = -b.job.offset // what lies before the part is dropped
	}
	for begin := at; ; {
		limit := min(b.limit, b.file.advance(b.job, at))
		switch {
		case at < limit:
		case limit < b.limit: // another connection brings the rest
			return nil
		default:
			return b.end(request, buf)
		}
		n, failure := b.fill(buf[:min(int64(len(buf)), limit-at)])
		if n > 0 {
			if err := b.file.store(ctx, at, buf[:n]); err != nil {
				return err
			}
			at += int64(n)
		}
		switch {
		case failure == nil, at == limit:
		case errors.Is(failure, io.EOF):
			return sdk.Errorf(sdk.Unavailable, "%s ended the answer after %d of %d bytes", b.name, at-begin, b.limit-begin)
		default:
			return networkError(request, b.name, failure)
		}
	}
}

// fill reads until the buffer is full, or some time has passed.
func (b *body) fill(buf []byte) (n int, err error) {
	clock := b.file.run.clock
	begin := clock.Now()
	for n < len(buf) && err == nil && (n == 0 || clock.Now().Sub(begin) < longestFill) {
		var m int
		m, err = b.from.Read(buf[n:])
		n += m
	}
	return n, err
}

// end sees that nothing follows. That also frees the connection for another request.
func (b *body) end(ctx context.Context, buf []byte) error {
	n, err := io.ReadFull(b.from, buf[:1])
	switch {
	case n > 0 && (b.job.alone || b.job.ranged):
		return fmt.Errorf("%w: it has more than %d bytes", ErrMismatch, b.limit-max(0, b.job.start))
	case n == 0 && !errors.Is(err, io.EOF) && b.file.Size == 0:
		return networkError(ctx, b.name, err)
	}
	return nil
}
