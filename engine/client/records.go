package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// followWait is how long one request for output lasts: less than tunnels allow.
const followWait = 30 * time.Second

// maxSilence is how long a follower tries to get through to the runtime again.
const maxSilence = 2 * time.Minute

// records copies output records from path, over as many requests as it takes.
func (c *transport) records(ctx context.Context, path string, offset int64, follow bool, stdout, stderr io.Writer) (int64, *protocol.Process, error) {
	b := newBackoff()
	last := time.Now()
	for {
		f := &recordCopy{stdout: stdout, stderr: stderr, offset: offset}
		err := c.copyRecords(ctx, path, follow, f)
		if f.offset != offset {
			offset, last = f.offset, time.Now()
			b.Reset()
		}
		switch {
		case f.end != nil || (err == nil && !follow):
			return offset, f.end, nil
		case f.sink != nil:
			return offset, nil, f.sink
		case ctx.Err() != nil:
			return offset, nil, ctx.Err()
		case err == nil: // waited long enough; ask again
			last = time.Now()
			b.Reset()
			continue
		case !passing(err) || Ended(err) || time.Since(last) > maxSilence:
			return offset, nil, err
		}
		if werr := b.Wait(ctx); werr != nil {
			return offset, nil, werr
		}
	}
}

func (c *transport) copyRecords(ctx context.Context, path string, follow bool, f *recordCopy) error {
	q := url.Values{"offset": {strconv.FormatInt(f.offset, 10)}}
	if follow {
		q.Set("follow", "1")
		q.Set("wait", strconv.Itoa(int(followWait/time.Second)))
	}
	resp, err := c.do(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if at, err := strconv.ParseInt(resp.Header.Get(protocol.HeaderOffset), 10, 64); err == nil {
		f.skip(at)
	}
	return f.run(protocol.NewRecordReader(resp.Body))
}

// recordCopy copies whole records and counts them, so that it can go on after
// the last whole one.
type recordCopy struct {
	stdout, stderr io.Writer
	offset         int64
	end            *protocol.Process
	sink           error // a writer of the caller failed
}

// skip takes note of where the answer begins. That the oldest output is gone is
// told where a person sees it.
func (f *recordCopy) skip(to int64) {
	if to > f.offset && f.stderr != nil {
		_, f.sink = fmt.Fprintf(f.stderr, "seer: %d bytes of older output have been dropped\n", to-f.offset)
	}
	f.offset = to
}

func (f *recordCopy) run(r *protocol.RecordReader) error {
	for {
		s, data, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		w := f.stdout
		switch s {
		case protocol.RecordEnd:
			var p protocol.Process
			if err := json.Unmarshal(data, &p); err != nil {
				return fmt.Errorf("the end record of a process is not valid: %w", err)
			}
			f.end = &p
			return nil
		case protocol.RecordStderr:
			w = f.stderr
		}
		if w != nil {
			if _, f.sink = w.Write(data); f.sink != nil {
				return f.sink
			}
		}
		f.offset += protocol.RecordHeader + int64(len(data))
	}
}
