package guestgrpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

const protoName = proto.Name

// clientStream is a [grpc.ClientStream].
type clientStream struct {
	stream  *stream.Stream
	ctx     context.Context
	cancel  context.CancelFunc
	desc    *grpc.StreamDesc
	options options

	sentLast bool // of the goroutine that sends
	received bool // of the goroutine that receives
	once     sync.Once
}

func (c *clientStream) Context() context.Context { return c.ctx }

func (c *clientStream) Header() (metadata.MD, error) {
	return c.head(), nil // the status is RecvMsg's to tell
}

// head is nil if the stream ended without one.
func (c *clientStream) head() metadata.MD {
	head := c.stream.Head()
	if head == nil || len(head.Headers) == 0 {
		return nil
	}
	return decode(head.Headers)
}

func (c *clientStream) Trailer() metadata.MD {
	end := c.stream.Ended()
	if end == nil {
		return nil
	}
	return decode(end.Event.Headers)
}

func (c *clientStream) SendMsg(m any) error {
	if c.sentLast {
		return c.abort(status.Error(codes.Internal, "SendMsg called after CloseSend"))
	}
	flags := int32(sdk.SendData)
	if !c.desc.ClientStreams { // the only message
		c.sentLast = true
		flags |= sdk.SendEnd
	}
	data, err := marshal(m)
	if err != nil {
		return c.abort(err)
	}
	if len(data) > c.options.maxSend {
		return c.abort(status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", len(data), c.options.maxSend))
	}
	if c.stream.Send(data, flags) != nil && c.desc.ClientStreams {
		return io.EOF // the status is RecvMsg's to tell
	}
	return nil
}

func (c *clientStream) CloseSend() error {
	if !c.sentLast {
		c.sentLast = true
		c.stream.CloseSend()
	}
	return nil
}

func (c *clientStream) RecvMsg(m any) error {
	err := c.receive(m)
	if err == nil && c.desc.ServerStreams {
		return nil
	}
	if err == nil { // there must be nothing else, and then the status counts
		err = c.last()
	}
	c.finish(err)
	return err
}

func (c *clientStream) receive(m any) error {
	data, end := c.stream.Next()
	if end != nil {
		return c.ending(end)
	}
	if len(data) > c.options.maxRecv {
		return c.abort(status.Errorf(codes.ResourceExhausted, "received message larger than max (%d vs. %d)", len(data), c.options.maxRecv))
	}
	if err := unmarshal(data, m); err != nil {
		return c.abort(err)
	}
	c.received = true
	return nil
}

// last receives the end that must follow the only message.
func (c *clientStream) last() error {
	_, end := c.stream.Next()
	if end == nil {
		return c.abort(status.Error(codes.Internal, "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message"))
	}
	if err := c.ending(end); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// ending is the status, or io.EOF where all is well.
func (c *clientStream) ending(end *stream.End) error {
	err := ending(c.ctx, end)
	switch {
	case err != nil:
		return err
	case !c.desc.ServerStreams && !c.received:
		return status.Error(codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC")
	default:
		return io.EOF
	}
}

// abort ends the call with an error that arose here.
func (c *clientStream) abort(err error) error {
	c.stream.Drop(err)
	c.finish(err)
	return err
}

// finish runs once, when the call's outcome is known.
func (c *clientStream) finish(err error) {
	c.once.Do(func() {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		for _, to := range c.options.header {
			*to = c.head()
		}
		for _, to := range c.options.trailer {
			*to = c.Trailer()
		}
		c.options.finished(err)
		c.cancel()
	})
}

func marshal(m any) ([]byte, error) {
	data, err := encoding.GetCodecV2(protoName).Marshal(m)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "error while marshaling: %v", err)
	}
	defer data.Free()
	return data.Materialize(), nil
}

func unmarshal(data []byte, m any) error {
	if err := encoding.GetCodecV2(protoName).Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, m); err != nil {
		return status.Errorf(codes.Internal, "failed to unmarshal the received message: %v", err)
	}
	return nil
}
