package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/sdk"
)

// Source gives the journals of a machine's services: a [protocol.Client] with the
// admin token.
type Source interface {
	Journal(ctx context.Context, service string, segment int, offset int64, wait time.Duration) (*protocol.JournalStream, error)
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
}

// pending is a call that has not ended.
type pending struct {
	Entry
	output []any // [stream, text] each
}

// NewRecorder makes a recorder that begins with the first call of the service. warn
// is told what the record lacks.
func NewRecorder(source Source, service string, to *Writer, warn func(format string, args ...any)) *Recorder {
	return &Recorder{source: source, service: service, to: to, warn: warn, segment: 1, open: map[string]*pending{}, seeds: map[string]int{}}
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

// take adds what one record tells.
func (r *Recorder) take(rec journal.Record, body io.Reader) error {
	if rec.Kind == protocol.FrameBegin {
		r.begin = rec.Begin
		return nil
	}
	if rec.ID == "" {
		return nil
	}
	p := r.open[rec.ID]
	switch rec.Kind {
	case protocol.FrameQueued, protocol.FrameStarted, protocol.FrameRefused:
		if p == nil {
			p = r.call(rec)
		}
	default:
		if p == nil {
			return nil // acknowledged, or before our time
		}
	}
	return r.add(p, rec, body)
}

func (r *Recorder) call(rec journal.Record) *pending {
	p := &pending{Entry: Entry{ID: rec.ID, Service: r.service, Function: rec.Fn, Token: rec.Token, Client: rec.Client,
		Queued: rec.Time, CodeHash: r.begin.CodeHash, Models: r.begin.Models}}
	r.open[rec.ID] = p
	r.order = append(r.order, p)
	return p
}

func (r *Recorder) add(p *pending, rec journal.Record, body io.Reader) error {
	switch rec.Kind {
	case protocol.FrameQueued:
		return r.arguments(p, rec, body)
	case protocol.FrameStarted:
		p.Started, p.State, p.CodeHash, p.Models = rec.Time, protocol.CallRunning, r.begin.CodeHash, r.begin.Models
		return r.arguments(p, rec, body)
	case protocol.FrameRefused:
		p.State, p.Ended = Refused, rec.Time
		p.Error = &protocol.CallError{Code: protocol.CallRefused, Message: rec.Reason}
		return r.finish(p)
	case protocol.FrameOutput:
		text, err := io.ReadAll(body)
		if err == nil {
			p.output = append(p.output, []any{rec.Stream, string(text)})
		}
		return err
	case protocol.FrameItem:
		hash, err := r.keep(body, rec, r.to.body)
		if err == nil {
			p.Items = append(p.Items, hash)
		}
		return err
	case protocol.FrameResult:
		p.State, p.Ended, p.Seconds = protocol.CallDone, rec.Time, rec.Seconds
		if !rec.Missing {
			hash, err := r.keep(body, rec, r.to.body)
			if err != nil {
				return err
			}
			p.Result = hash
		}
		return r.finish(p)
	case protocol.FrameError:
		p.State, p.Ended, p.Seconds, p.Error = stateOf(rec.Error), rec.Time, rec.Seconds, rec.Error
		return r.finish(p)
	}
	return nil
}

func (r *Recorder) keep(body io.Reader, rec journal.Record, as func(io.Reader, int64, bool) (string, error)) (string, error) {
	from := &source{r: body}
	hash, err := as(from, rec.Size, rec.Tagged)
	if from.err != nil {
		return "", from.err
	}
	return hash, fault(err)
}

// source remembers that it was reading which failed, not writing.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (r *Recorder) arguments(p *pending, rec journal.Record, body io.Reader) error {
	if rec.Size == 0 || p.Arguments != "" {
		return nil
	}
	hash, err := r.keep(body, rec, r.to.arguments)
	if err != nil {
		return err
	}
	p.Arguments = hash
	p.Seed = r.seed(p.Function, hash)
	return nil
}

// seed is the argument of that name, where there is one.
func (r *Recorder) seed(fn, hash string) json.RawMessage {
	place, known := r.seeds[fn]
	if !known {
		place = r.seedOf(fn)
		r.seeds[fn] = place
	}
	if place < 0 {
		return nil
	}
	v, err := r.to.folder.Body(hash)
	if err != nil {
		return nil
	}
	text, err := v.Plain(value.PlainOptions{Shorten: 1 << 10})
	if err != nil {
		return nil
	}
	var call struct {
		Args   []json.RawMessage          `json:"args"`
		Kwargs map[string]json.RawMessage `json:"kwargs"`
	}
	_ = json.Unmarshal(text, &call) // then there is none
	if place < len(call.Args) {
		return call.Args[place]
	}
	return call.Kwargs["seed"]
}

// seedOf is the place of the parameter seed; -1 where there is none.
func (r *Recorder) seedOf(fn string) int {
	face, err := r.to.folder.Interface(r.service)
	if err != nil {
		return -1
	}
	for _, f := range face.Functions {
		if f.Name == fn {
			return slices.IndexFunc(f.Params, func(p sdk.Param) bool { return p.Name == "seed" })
		}
	}
	return -1
}

// finish writes a call that has ended.
func (r *Recorder) finish(p *pending) error {
	delete(r.open, p.ID)
	if len(r.order) > 64 && len(r.open) < len(r.order)/2 {
		r.forget()
	}
	if len(p.output) > 0 {
		hash, err := r.to.text(p.output)
		if err != nil {
			return fault(err)
		}
		p.Output = hash
	}
	return fault(r.to.add(p.Entry))
}

func (r *Recorder) forget() {
	var left []*pending
	for _, p := range r.order {
		if r.open[p.ID] == p {
			left = append(left, p)
		}
	}
	r.order = left
}

func stateOf(e *protocol.CallError) protocol.CallState {
	switch {
	case e == nil:
		return protocol.CallFailed
	case e.Code == protocol.CallCancelled:
		return protocol.CallWasCancelled
	case e.Code == protocol.CallInterrupted:
		return protocol.CallWasCut
	}
	return protocol.CallFailed
}

// fault marks a fault of the record's own disk.
func fault(err error) error {
	if err == nil {
		return nil
	}
	return &writeError{fmt.Errorf("write the record: %w", err)}
}
