package guestgrpc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/call"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
	"github.com/seer-engine/seer/sdk/guest/internal/stream/streamtest"
)

// service answers as its requests and metadata say.
type service struct {
	pb.UnimplementedTestServiceServer
	cancelled chan struct{} // takes one for each call that its client gave up
}

// greet sends back the metadata whose keys begin with echo-, as head and trailers.
func greet(ctx context.Context, head, trailer func(metadata.MD) error) error {
	md, _ := metadata.FromIncomingContext(ctx)
	h, t := metadata.MD{}, metadata.MD{}
	for key, values := range md {
		if rest, ok := strings.CutPrefix(key, "echo-"); ok {
			h.Append("head-"+rest, values...)
			t.Append("trailer-"+rest, values...)
		}
	}
	if _, limited := ctx.Deadline(); limited {
		h.Set("limited", "yes")
	}
	return errors.Join(head(h), trailer(t))
}

func echoStatus(s *pb.EchoStatus) error {
	if s.GetCode() == 0 {
		return nil
	}
	st, err := status.New(codes.Code(s.GetCode()), s.GetMessage()).WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
	if err != nil {
		return err
	}
	return st.Err()
}

func (s *service) wait(ctx context.Context) error {
	<-ctx.Done()
	s.cancelled <- struct{}{}
	return ctx.Err()
}

func (s *service) UnaryCall(ctx context.Context, in *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	err := greet(ctx, func(md metadata.MD) error { return grpc.SetHeader(ctx, md) }, func(md metadata.MD) error { return grpc.SetTrailer(ctx, md) })
	if err != nil {
		return nil, err
	}
	if in.GetFillUsername() {
		return nil, s.wait(ctx)
	}
	return &pb.SimpleResponse{Payload: in.GetPayload()}, echoStatus(in.GetResponseStatus())
}

func (s *service) StreamingOutputCall(in *pb.StreamingOutputCallRequest, out grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	if err := greet(out.Context(), out.SendHeader, func(md metadata.MD) error { out.SetTrailer(md); return nil }); err != nil {
		return err
	}
	for i, p := range in.GetResponseParameters() {
		body := make([]byte, p.GetSize())
		if len(body) > 0 {
			body[0] = byte(i)
		}
		if err := out.Send(&pb.StreamingOutputCallResponse{Payload: &pb.Payload{Body: body}}); err != nil {
			return err
		}
	}
	if len(in.GetResponseParameters()) == 0 && in.GetResponseStatus() == nil {
		return s.wait(out.Context())
	}
	return echoStatus(in.GetResponseStatus())
}

func (s *service) StreamingInputCall(in grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	var sum int
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return in.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
		}
		if err != nil {
			return err
		}
		if string(m.GetPayload().GetBody()) == "stop" {
			return status.Error(codes.OutOfRange, "enough")
		}
		sum += len(m.GetPayload().GetBody())
	}
}

func (s *service) FullDuplexCall(both grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		m, err := both.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			s.cancelled <- struct{}{}
			return err
		}
		if err := echoStatus(m.GetResponseStatus()); err != nil {
			return err
		}
		if err := both.Send(&pb.StreamingOutputCallResponse{Payload: m.GetPayload()}); err != nil {
			return err
		}
	}
}

// The ways to one server: grpc itself, and what has to behave like it.
type ways struct {
	conns     map[string]grpc.ClientConnInterface
	cancelled chan struct{}
}

func connect(t *testing.T) ways {
	t.Helper()
	s := &service{cancelled: make(chan struct{}, 100)}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(sdk.MaxMessage), grpc.MaxSendMsgSize(sdk.MaxMessage))
	pb.RegisterTestServiceServer(server, s)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	direct := dial(t, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))

	host := streamtest.New(t)
	host.GRPC = func(x *streamtest.Exchange) { forward(x, direct) }
	conn := Conn{Target: "https://api.example.org", pump: stream.New(host, &call.Calls{})}
	chained := dial(t, grpc.WithChainUnaryInterceptor(theirs, conn.interceptUnary), grpc.WithChainStreamInterceptor(conn.interceptStream))
	return ways{map[string]grpc.ClientConnInterface{"grpc": direct, "Conn": conn, "interceptors": chained}, s.cancelled}
}

// theirs is an SDK's own interceptor.
func theirs(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return next(metadata.AppendToOutgoingContext(ctx, "sdk", "yes"), method, req, reply, cc, opts...)
}

func dial(t *testing.T, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:unused", append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// each runs a test on every way.
func each(t *testing.T, test func(t *testing.T, c pb.TestServiceClient, cancelled chan struct{})) {
	t.Helper()
	w := connect(t)
	for name, conn := range w.conns {
		t.Run(name, func(t *testing.T) { test(t, pb.NewTestServiceClient(conn), w.cancelled) })
	}
}

// forward is what a host does with a call.
func forward(x *streamtest.Exchange, conn *grpc.ClientConn) {
	ctx, cancel := context.WithCancel(context.Background())
	if x.GRPC.TimeoutSeconds > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), time.Duration(x.GRPC.TimeoutSeconds*float64(time.Second)))
	}
	defer cancel()
	go func(ctx context.Context) {
		select {
		case <-x.Gone():
			cancel()
		case <-ctx.Done():
		}
	}(ctx)
	for key, values := range x.GRPC.Metadata {
		for _, v := range values {
			if raw, err := base64.StdEncoding.DecodeString(v); err == nil && strings.HasSuffix(key, "-bin") {
				v = string(raw)
			}
			ctx = metadata.AppendToOutgoingContext(ctx, key, v)
		}
	}
	rpc, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, x.GRPC.Method, grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(sdk.MaxMessage))
	if err != nil {
		x.End(sdk.Event{Error: sdk.Errorf(sdk.Unavailable, "%v", err)}, nil)
		return
	}
	go func() {
		for {
			piece, err := x.Receive()
			if err != nil {
				rpc.CloseSend()
				return
			}
			rpc.SendMsg(&piece)
		}
	}()
	if md, _ := rpc.Header(); md != nil {
		x.Head(0, wire(md))
	}
	for {
		var piece []byte
		if err = rpc.RecvMsg(&piece); err != nil || !x.Data(piece) {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	st := status.Convert(err)
	e := sdk.Event{Code: uint32(st.Code()), Message: st.Message(), Headers: wire(rpc.Trailer())}
	var full []byte
	if len(st.Proto().GetDetails()) > 0 {
		full, _ = proto.Marshal(st.Proto())
	}
	x.End(e, full)
}

func wire(md metadata.MD) map[string][]string {
	out := map[string][]string{}
	for key, values := range md {
		for _, v := range values {
			if strings.HasSuffix(key, "-bin") {
				v = base64.RawStdEncoding.EncodeToString([]byte(v)) // hosts may leave the padding out
			}
			out[key] = append(out[key], v)
		}
	}
	return out
}

// raw is a codec for messages that are bytes already.
type raw struct{}

func (raw) Name() string { return protoName }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// code checks an error's code and that its text holds a part.
func code(t *testing.T, err error, want codes.Code, part string) {
	t.Helper()
	if status.Code(err) != want || !strings.Contains(fmt.Sprint(err), part) {
		t.Errorf("error %v, want %v … %s", err, want, part)
	}
}
