package client

import (
	"errors"
	"io"

	"github.com/seer-engine/seer/engine/protocol"
)

// event handles one frame. Those that have been handled on an earlier connection are
// passed over.
func (f *follower) event(r io.Reader, h protocol.FrameHeader, size int64) (_ Answer, last bool, err error) {
	n := max(h.N, 1)
	switch {
	case h.Kind == protocol.FrameQueued:
		if f.handler.Queued != nil && h.Position != nil {
			f.handler.Queued(*h.Position)
		}
		return Answer{}, false, skipBody(r, size)
	case h.Kind == protocol.FrameWaiting:
		return Answer{}, false, asCut(errWaiting)
	case h.Kind == protocol.FrameResult:
		answer, err := f.result(r, h, size)
		if err == nil {
			f.handled(n)
		}
		return answer, err == nil, err
	case h.Kind == protocol.FrameError:
		if err := skipBody(r, size); err != nil {
			return Answer{}, false, asCut(err)
		}
		if h.Error == nil {
			return Answer{}, false, protocol.Errorf(protocol.Internal, "the worker sent an error without saying which")
		}
		return Answer{ID: f.head.ID, Seconds: h.Seconds}, true, h.Error
	case (h.Kind == protocol.FrameOutput || h.Kind == protocol.FrameItem) && n >= f.next:
		return Answer{}, false, f.piece(r, h, size, n)
	}
	return Answer{}, false, asCut(skipBody(r, size))
}

var errWaiting = errors.New("the time of the request is up")

func (f *follower) handled(n int) {
	f.next = n + 1
	if f.handler.Event != nil {
		f.handler.Event(n)
	}
}

func (f *follower) piece(r io.Reader, h protocol.FrameHeader, size int64, n int) error {
	data, err := readBody(r, size)
	if err != nil {
		return asCut(err)
	}
	f.between = true
	if h.Kind == protocol.FrameOutput && f.handler.Output != nil {
		f.handler.Output(h.Stream, string(data))
	}
	if h.Kind == protocol.FrameItem && f.handler.Item != nil {
		if err := f.handler.Item(Body{Data: data, Tagged: h.Tagged}); err != nil {
			return &itemError{err: err, early: true}
		}
	}
	f.handled(n)
	return nil
}

// result reads the result, or has the handler read it.
func (f *follower) result(r io.Reader, h protocol.FrameHeader, size int64) (Answer, error) {
	f.large = size > ackAbove
	answer := Answer{ID: f.head.ID, Seconds: h.Seconds, Body: Body{Tagged: h.Tagged}}
	if f.handler.Result == nil {
		data, err := readBody(r, size)
		answer.Data = data
		return answer, asCut(err)
	}
	in := &pieceReader{r: r, left: size}
	err := f.handler.Result(h.Tagged, size, in)
	switch {
	case in.err != nil:
		return answer, asCut(in.err)
	case err != nil:
		return answer, &itemError{err: err}
	}
	return answer, asCut(skipBody(r, in.left))
}
