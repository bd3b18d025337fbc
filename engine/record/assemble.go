package record

import (
	"errors"
	"fmt"
	"io"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
)

// pending is a call that has not ended.
type pending struct {
	Entry
	output []any // [stream, text] each
}

// take adds what one record tells.
func (r *Recorder) take(rec journal.Record, body io.Reader) error {
	if rec.Kind == protocol.FrameBegin {
		r.begin = rec.Begin
		return nil
	}
	if rec.ID == "" || r.skipping {
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
		Queued: rec.Time, CodeHash: r.begin.CodeHash, Models: r.begin.Models, Datasets: r.begin.Datasets}}
	r.open[rec.ID] = p
	r.order = append(r.order, p)
	return p
}

func (r *Recorder) add(p *pending, rec journal.Record, body io.Reader) error {
	switch rec.Kind {
	case protocol.FrameQueued:
		return r.arguments(p, rec, body)
	case protocol.FrameStarted:
		p.Started, p.State, p.CodeHash = rec.Time, protocol.CallRunning, r.begin.CodeHash
		p.Models, p.Datasets = r.begin.Models, r.begin.Datasets
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
		p.State, p.Ended, p.Seconds, p.GPUBytes, p.GPUSeconds = protocol.CallDone, rec.Time, rec.Seconds, rec.GPUBytes, rec.GPUSeconds
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
		p.GPUBytes, p.GPUSeconds = rec.GPUBytes, rec.GPUSeconds
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
