package stream

import (
	"errors"

	"github.com/seer-engine/seer/sdk"
)

// ErrOver is the answer to sending on a stream that has ended.
var ErrOver = errors.New("the stream has ended")

// Stream is one HTTP request, gRPC call or command on a host. One goroutine may send while another
// receives. It is the host's until it has ended: read it to its end, give it up
// with Fail, or end its context.
type Stream struct {
	pump *Pump
	id   int64
	stop func() bool   // forgets the context
	done chan struct{} // closed at the end

	// All below is guarded by pump.mu; changed is closed and replaced when it changes.
	changed chan struct{}
	head    *sdk.Event
	data    [][]byte
	used    int64 // bytes read that the host has not been told of
	full    bool  // the host takes nothing until EventRoom
	closing bool  // an end is to be sent when there is room
	end     *End
}

// End is how a stream ended: with an answer, or with Err, which is that of the
// context, that given to Fail, or the host's *sdk.Error.
type End struct {
	Err     error
	Event   sdk.Event
	Payload []byte
}

// Done is closed when the stream has ended, though there may be data to be read.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Fail gives the stream up with an error; without effect once it has ended.
func (s *Stream) Fail(err error) {
	s.pump.mu.Lock()
	defer s.pump.mu.Unlock()
	s.fail(err)
}

// Drop gives the stream up and forgets what has come: nobody will read it.
func (s *Stream) Drop(err error) {
	s.pump.mu.Lock()
	defer s.pump.mu.Unlock()
	s.fail(err)
	if s.data = nil; s.end.Err == nil {
		s.end = &End{Err: err, Event: s.end.Event}
	}
}

// Head waits for the head. It is nil if the stream ended without one.
func (s *Stream) Head() *sdk.Event {
	s.pump.mu.Lock()
	defer s.pump.mu.Unlock()
	for s.head == nil && s.end == nil {
		s.wait()
	}
	return s.head
}

// Next waits for the next piece of data. After the last it returns the end.
func (s *Stream) Next() ([]byte, *End) {
	s.pump.mu.Lock()
	defer s.pump.mu.Unlock()
	for len(s.data) == 0 && s.end == nil {
		s.wait()
	}
	if len(s.data) == 0 {
		return nil, s.end
	}
	piece := s.data[0]
	s.data[0] = nil
	s.data = s.data[1:]
	s.credit(len(piece))
	return piece, nil
}

// Ended returns the end, or nil while there is none. Data may be left to be read.
func (s *Stream) Ended() *End {
	s.pump.mu.Lock()
	defer s.pump.mu.Unlock()
	return s.end
}

// credit lets the host deliver as much again: at once when nothing is left to read,
// for then nothing else would, and else in larger steps.
func (s *Stream) credit(n int) {
	s.used += int64(n)
	if s.end == nil && s.used > 0 && (len(s.data) == 0 || s.used >= sdk.StreamWindow/4) {
		s.pump.host.Credit(s.id, s.used)
		s.used = 0
	}
}

// Send hands over a piece of data, and waits while the host has no room. It is
// [ErrOver] if the stream has ended.
func (s *Stream) Send(data []byte, flags int32) error {
	s.pump.mu.Lock()
	defer s.pump.mu.Unlock()
	for s.end == nil {
		if s.full {
			s.wait()
			continue
		}
		switch s.pump.host.Send(s.id, data, flags) {
		case sdk.SendOK:
			return nil
		case sdk.SendFull:
			s.full = true
		default:
			return ErrOver
		}
	}
	return ErrOver
}

// CloseSend says that nothing more will be sent. It does not wait.
func (s *Stream) CloseSend() {
	s.pump.mu.Lock()
	defer s.pump.mu.Unlock()
	s.closing = true
	s.sendEnd()
}

func (s *Stream) sendEnd() {
	if s.end == nil && s.closing && !s.full {
		s.full = s.pump.host.Send(s.id, nil, sdk.SendEnd) == sdk.SendFull
		s.closing = s.full
	}
}

// take receives an event.
func (s *Stream) take(d delivery) {
	switch d.Kind {
	case sdk.EventHead:
		s.head = &d.Event
	case sdk.EventData:
		s.data = append(s.data, d.payload)
	case sdk.EventRoom:
		s.full = false
		s.sendEnd()
	case sdk.EventEnd:
		end := &End{Event: d.Event, Payload: d.payload}
		if d.Error != nil {
			end.Err = d.Error
		}
		s.finish(end)
		return
	}
	s.signal()
}

// fail gives the stream up: the host forgets it, and so does the pump.
func (s *Stream) fail(err error) {
	if s.end == nil {
		s.pump.host.Send(s.id, nil, sdk.SendCancel)
		s.data = nil
		s.finish(&End{Err: err})
	}
}

func (s *Stream) finish(end *End) {
	s.end = end
	delete(s.pump.streams, s.id)
	s.stop()
	close(s.done)
	s.signal()
}

func (s *Stream) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits for a change, without the lock.
func (s *Stream) wait() {
	changed := s.changed
	s.pump.mu.Unlock()
	<-changed
	s.pump.mu.Lock()
}
