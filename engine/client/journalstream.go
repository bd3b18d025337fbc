package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// JournalStream is a piece of a service's journal: whole and cut records, as they come.
// It must be closed.
type JournalStream struct {
	Segment int   // that the bytes are of
	Offset  int64 // of the first byte in it
	resp    *http.Response
}

// Read reads on; io.EOF means that the time of the request is over, or the segment.
func (s *JournalStream) Read(p []byte) (int, error) { return s.resp.Body.Read(p) }

// Close ends the stream.
func (s *JournalStream) Close() error { return s.resp.Body.Close() }

// Next is the segment to continue with, from its beginning, once Read has returned io.EOF; 0
// = this segment continues.
func (s *JournalStream) Next() int {
	n, _ := strconv.Atoi(s.resp.Trailer.Get(protocol.HeaderNext))
	return n
}

// Journal reads the journal of a service from a byte of a segment, and waits so long
// for what is still to come. The service keeps its journal whole for the ten minutes after a
// request, also one that was not served with record. It takes the admin token. The segment and offset of the
// answer are later than asked for where the older ones are gone.
func (c Services) Journal(ctx context.Context, service string, segment int, offset int64, wait time.Duration) (*JournalStream, error) {
	q := url.Values{"segment": {strconv.Itoa(segment)}, "offset": {strconv.FormatInt(offset, 10)}, "record": {"1"}}
	if wait > 0 {
		q.Set("wait", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64))
	}
	resp, err := c.do(ctx, http.MethodGet, servicePath(service)+"/journal", q, nil)
	if err != nil {
		return nil, err
	}
	s := &JournalStream{Segment: segment, Offset: offset, resp: resp}
	if n, err := strconv.Atoi(resp.Header.Get(protocol.HeaderSegment)); err == nil {
		s.Segment = n
	}
	if n, err := strconv.ParseInt(resp.Header.Get(protocol.HeaderOffset), 10, 64); err == nil {
		s.Offset = n
	}
	return s, nil
}

var _ io.ReadCloser = (*JournalStream)(nil)
