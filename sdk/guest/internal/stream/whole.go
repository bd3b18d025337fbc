package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

const pieceSize = 64 << 10 // bytes sent at once

// Whole sends all of an input, if there is one, while it reads all of the answer. who is what
// does not answer when the time is over. The error is that of the end.
func (s *Stream) Whole(who string, input []byte) ([]byte, *End, error) {
	if len(input) > 0 {
		go s.sendAll(input)
	}
	var out bytes.Buffer
	for {
		piece, end := s.Next()
		switch {
		case end == nil:
			out.Write(piece)
		case end.Err != nil:
			return nil, end, Late(who, end.Err)
		default:
			return out.Bytes(), end, nil
		}
	}
}

// sendAll hands an input over. A command that ends before it has read all of it is none the
// worse for that.
func (s *Stream) sendAll(input []byte) {
	for piece := range slices.Chunk(input, pieceSize) {
		if s.Send(piece, sdk.SendData) != nil {
			return
		}
	}
	s.CloseSend()
}

// Late is the error of a deadline, whether the host or the guest has noticed it.
func Late(who string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return sdk.Errorf(sdk.Unavailable, "%s did not answer in time", who)
	}
	return err
}

// Ask reads the answer of a host function that has no input.
func Ask[T any](function func([]byte) []byte) (out T, err error) {
	return AskFor[T](function, struct{}{})
}

// AskFor is [Ask] with an input.
func AskFor[T any](function func([]byte) []byte, in any) (out T, err error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	var e sdk.Envelope
	if err := json.Unmarshal(function(raw), &e); err != nil {
		return out, fmt.Errorf("the host's answer: %w", err)
	}
	if e.Error != nil {
		return out, e.Error
	}
	return out, json.Unmarshal(e.OK, &out)
}
