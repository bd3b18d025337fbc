// Package guestgrpc gives a plugin gRPC: any generated client, and any SDK that
// accepts interceptors, works over it without a connection of its own.
//
// The plugin's manifest names the methods that may be called, and the host calls
// them: it connects, keeps the connections, and adds credentials. Messages are
// protobuf; compression, load balancing and keep-alive are the host's.
package guestgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

// Conn is a [grpc.ClientConnInterface] that lets the host make the calls. It needs no
// opening and no closing, and is safe for concurrent use:
//
//	client := pb.NewGreeterClient(guestgrpc.Conn{Target: "https://api.example.org"})
//
// It keeps the contract of [grpc.ClientStream]. Errors are those of package status,
// with the details that the server gave; what the host refuses or cannot do is an
// *sdk.Error as well. Of the call options these count: Header, Trailer, OnFinish,
// MaxCallRecvMsgSize (default 4 MiB), MaxCallSendMsgSize. A codec other than proto and
// per-call credentials are refused; what concerns the connection is the host's.
type Conn struct {
	Target string // https://host[:port], or http:// where the user has configured it

	pump *stream.Pump // nil = that of the instance
}

var _ grpc.ClientConnInterface = Conn{}

// unary is the stream of a unary call.
var unary = &grpc.StreamDesc{}

// Invoke implements [grpc.ClientConnInterface].
func (c Conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	s, err := c.NewStream(ctx, unary, method, opts...)
	if err != nil {
		return err
	}
	if err := s.SendMsg(args); err != nil {
		return err
	}
	return s.RecvMsg(reply)
}

// NewStream implements [grpc.ClientConnInterface].
func (c Conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	o, err := readOptions(opts)
	if err != nil {
		o.finished(err)
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := c.open(ctx, method)
	if err != nil {
		err = toStatus(ctx, err)
		cancel()
		o.finished(err)
		return nil, err
	}
	return &clientStream{stream: s, ctx: ctx, cancel: cancel, desc: desc, options: o}, nil
}

func (c Conn) open(ctx context.Context, method string) (*stream.Stream, error) {
	in := sdk.GRPCOpen{Target: c.Target, Method: method, TimeoutSeconds: stream.Timeout(ctx)}
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		var err error
		if in.Metadata, err = encode(md); err != nil {
			return nil, err
		}
	}
	pump := c.pump
	if pump == nil {
		pump = stream.Instance()
	}
	return pump.OpenGRPC(ctx, in)
}

// UnaryInterceptor ends a chain of interceptors: the call goes through the host to
// target (as in [Conn]), and the connection that the chain belongs to is never made.
// So an SDK keeps its own interceptors, for authentication, retries and time limits,
// if this one comes last:
//
//	grpc.NewClient("passthrough:unused", grpc.WithTransportCredentials(insecure.NewCredentials()),
//		grpc.WithChainUnaryInterceptor(theirs, guestgrpc.UnaryInterceptor(target)),
//		grpc.WithChainStreamInterceptor(guestgrpc.StreamInterceptor(target)))
func UnaryInterceptor(target string) grpc.UnaryClientInterceptor {
	return Conn{Target: target}.interceptUnary
}

// StreamInterceptor is [UnaryInterceptor] for streams.
func StreamInterceptor(target string) grpc.StreamClientInterceptor {
	return Conn{Target: target}.interceptStream
}

func (c Conn) interceptUnary(ctx context.Context, method string, req, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return c.Invoke(ctx, method, req, reply, opts...)
}

func (c Conn) interceptStream(ctx context.Context, desc *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.NewStream(ctx, desc, method, opts...)
}
