package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
)

// Source gives the journals of a machine's services: the [client.Services] of a client with the
// admin token.
type Source interface {
	Journal(ctx context.Context, service string, segment int, offset int64, wait time.Duration) (*client.JournalStream, error)
}

const (
	followWait = 30 * time.Second
	retryPause = time.Second
)

// Recorder follows the journal of one service. It is not safe for concurrent use,
// but for Follow and a Finish after it.
type Recorder struct {
	source  Source
	service string
	to      *Writer
	warn    func(format string, args ...any)

	segment int
	offset  int64
	begin   journal.Begin // of the present segment
	open    map[string]*pending
	order   []*pending
	seeds   map[string]int // function → place of its parameter seed

	skipping bool // what is read is from before the record
}

// NewRecorder makes a recorder that begins with the first call of the service. warn
// is told what the record lacks.
func NewRecorder(source Source, service string, to *Writer, warn func(format string, args ...any)) *Recorder {
	return &Recorder{source: source, service: service, to: to, warn: warn, segment: 1, open: map[string]*pending{}, seeds: map[string]int{}}
}

// Skip leaves out the calls that the service has had until now. It is for services that were
// there before the run, and comes before Follow.
func (r *Recorder) Skip(ctx context.Context) error {
	r.skipping = true
	defer func() { r.skipping = false }()
	for {
		more, err := r.read(ctx, 0)
		if err != nil || !more {
			return err
		}
	}
}

// Follow records until ctx ends. A machine that cannot be reached for a while is
// asked again.
func (r *Recorder) Follow(ctx context.Context) error {
	for ctx.Err() == nil {
		_, err := r.read(ctx, followWait)
		var full *writeError
		if errors.As(err, &full) {
			return full.err
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
	return nil
}

// Finish records what is there still, and the calls that did not end as such.
// Nobody follows meanwhile.
func (r *Recorder) Finish(ctx context.Context) error {
	var err error
	for more := true; more && err == nil; {
		more, err = r.read(ctx, 0)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("the last calls of %s are missing in the record: %w", r.service, err)
	}
	for _, p := range r.order {
		if r.open[p.ID] != p {
			continue
		}
		p.State = protocol.CallWasCut
		p.Error = &protocol.CallError{Code: protocol.CallInterrupted, Message: "the run ended first"}
		err = errors.Join(err, r.finish(p))
	}
	r.order, r.open = nil, map[string]*pending{}
	return err
}

// writeError is a fault of the record's own disk, after which nothing can follow.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

// read records what one request brings, and reports whether it brought anything.
func (r *Recorder) read(ctx context.Context, wait time.Duration) (bool, error) {
	stream, err := r.source.Journal(ctx, r.service, r.segment, r.offset, wait)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	if stream.Segment != r.segment || stream.Offset != r.offset {
		if r.offset > 0 || stream.Offset > 0 || stream.Segment < r.segment {
			r.warn("calls of %s between the segments %d and %d of its journal are missing in the record", r.service, r.segment, stream.Segment)
		}
		r.segment, r.offset = stream.Segment, stream.Offset
	}
	before, from := r.segment, r.offset
	records := journal.NewReader(stream, r.offset)
	for {
		rec, err := records.Next()
		if err == nil {
			err = r.take(rec, records)
		}
		switch {
		case err == nil:
			r.offset = rec.End()
			continue
		case errors.Is(err, journal.ErrDamaged):
			r.warn("the journal of %s is damaged in segment %d; what follows there is missing in the record", r.service, r.segment)
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return false, err
		}
		break
	}
	if next := stream.Next(); next > 0 {
		r.segment, r.offset = next, 0
	}
	return r.segment != before || r.offset != from, nil
}
