package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/seer-engine/seer/engine/transfer/xet"
	"github.com/seer-engine/seer/sdk"
)

// piece is a part, and where it lies in the file.
type piece struct {
	Part
	at int64
}

// pieces are the parts that a fetch has chunks of.
func (s Source) pieces(fetch int) (found []piece) {
	var at int64
	for _, p := range s.Parts {
		if p.Fetch == fetch && p.Encoding == XetChunks {
			found = append(found, piece{p, at})
		}
		at += p.Length
	}
	return found
}

// spans are the bytes of the file that a job brings.
func (j *job) spans() []span {
	if j.pieces == nil {
		return []span{j.span}
	}
	var all []span
	for _, p := range j.pieces {
		all = append(all, span{p.at, p.at + p.Length})
	}
	return all
}

// readChunks reads all signed ranges of a fetch, and stores the chunks of each piece.
func (f *file) readChunks(ctx, request context.Context, j *job, resp *http.Response, from io.Reader) error {
	buf, err := f.run.pool.get(ctx) // which stands for the memory of the decoder
	if err != nil {
		return err
	}
	defer f.run.pool.put(buf)
	var want []xet.ByteRange
	for _, r := range j.fetch.Ranges {
		want = append(want, xet.ByteRange{First: r.Start, Last: r.End - 1})
	}
	var own error // not of the server
	err = xet.ReadByteRanges(resp.StatusCode, resp.Header, bufio.NewReaderSize(from, 64<<10), want, func(i int, r io.Reader) error {
		var err error
		own, err = f.decode(ctx, j, i, r)
		return errors.Join(own, err)
	})
	name := resp.Request.URL.Host
	switch {
	case err == nil:
		return nil
	case own != nil:
		return own
	case request.Err() != nil:
		return networkError(request, name, err)
	}
	return sdk.Errorf(sdk.Unavailable, "%s: %v", name, withoutURL(err))
}

// decode stores what one range has for the pieces of a job. own is an error that asking
// the server again does not mend.
func (f *file) decode(ctx context.Context, j *job, index int, r io.Reader) (own, err error) {
	var mine []piece
	for _, p := range j.pieces {
		if p.Range == index {
			mine = append(mine, p)
		}
	}
	decoder := xet.NewDecoder(r)
	raw := make([]int64, len(mine)) // bytes of each piece's chunks so far
	for n := j.fetch.Ranges[index].FirstChunk; ; n++ {
		chunk, err := decoder.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, p := range mine {
			if n < p.FirstChunk || n >= p.EndChunk {
				continue
			}
			if err := f.storePiece(ctx, p, raw[i]-p.Offset, chunk.Raw); err != nil {
				return err, nil
			}
			raw[i] += int64(len(chunk.Raw))
		}
	}
	for i, p := range mine {
		if raw[i] < p.Offset+p.Length {
			return fmt.Errorf("%w: its chunks have %d bytes where %d are needed", ErrMismatch, raw[i], p.Offset+p.Length), nil
		}
	}
	return nil, nil
}

// storePiece stores bytes that begin at that place of a piece, as far as they lie in it.
func (f *file) storePiece(ctx context.Context, p piece, at int64, b []byte) error {
	from, to := max(0, -at), min(int64(len(b)), p.Length-at)
	if from >= to {
		return nil
	}
	return f.store(ctx, p.at+at+from, b[from:to])
}
