package runtime

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
)

// Headers of a piece of a journal.
const (
	headerSegment = "X-Seer-Segment"
	headerNext    = "X-Seer-Next" // a trailer: the segment is complete
)

// recording is how long a journal is kept whole for a recorder that does not ask again.
const recording = 10 * time.Minute

// getJournal sends a journal as it grows. A client that asks for a segment has those
// before it.
func (h *serviceHandler) getJournal(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("service")
	v, err := h.services.WithJournal(name)
	if err != nil {
		return err
	}
	q := httpx.QueryOf(r)
	segment, offset := q.Int("segment"), q.Int("offset")
	ctx, cancel := q.Wait()
	defer cancel()
	if err := q.Err(); err != nil {
		return err
	}
	if v != nil && q.Is("record") {
		service.Record(v, recording)
	}
	if v != nil && segment > 1 {
		v.Drained(int(segment) - 1)
	}
	j := &journalStream{dir: h.services.Journal(name), segment: int(max(segment, 1)), offset: offset}
	if err := j.find(ctx); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(headerSegment, strconv.Itoa(j.segment))
	w.Header().Set(protocol.HeaderOffset, strconv.FormatInt(j.offset, 10))
	w.Header().Set("Trailer", headerNext)
	w.WriteHeader(http.StatusOK)
	next, err := j.copy(ctx, w, http.NewResponseController(w).Flush)
	if err != nil {
		httpx.Abort(err)
	}
	if next > 0 {
		w.Header().Set(headerNext, strconv.Itoa(next))
	}
	return nil
}

// journalStream is a place in a journal.
type journalStream struct {
	dir     string
	segment int
	offset  int64
}

const journalPause = 50 * time.Millisecond // between two looks for more

// find waits for the segment, or goes to the first after it when it is not needed any
// more and gone. At the end of ctx it stays where it is.
func (j *journalStream) find(ctx context.Context) error {
	for {
		found, err := journal.Segments(j.dir)
		if err != nil {
			return err
		}
		for _, n := range found {
			if n > j.segment {
				j.segment, j.offset = n, 0
			}
			if n >= j.segment {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(journalPause):
		}
	}
}

// copy sends the segment. It reports the one after it once this one is complete.
func (j *journalStream) copy(ctx context.Context, w io.Writer, flush func() error) (int, error) {
	f, err := os.Open(filepath.Join(j.dir, journal.Name(j.segment)))
	if os.IsNotExist(err) {
		return 0, flush()
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for {
		next := j.after() // looked for before the end, for it may grow until then
		n, err := io.Copy(w, io.NewSectionReader(f, j.offset, 1<<62))
		j.offset += n
		if err == nil {
			err = flush()
		}
		if err != nil || next > 0 {
			return next, err
		}
		select {
		case <-ctx.Done():
			return 0, nil
		case <-time.After(journalPause):
		}
	}
}

// after is the segment after this one; 0 = none yet.
func (j *journalStream) after() int {
	found, err := journal.Segments(j.dir)
	if err != nil {
		return 0
	}
	for _, n := range found {
		if n > j.segment {
			return n
		}
	}
	return 0
}
