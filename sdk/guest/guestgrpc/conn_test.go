package guestgrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/call"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
	"github.com/seer-engine/seer/sdk/guest/internal/stream/streamtest"
)

func payload(text string) *pb.Payload { return &pb.Payload{Body: []byte(text)} }

func TestUnary(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "Echo-Text", "a", "echo-text", "b", "echo-raw-bin", "\x00\xff=")
		var head, trailer metadata.MD
		outcome := errors.New("not called")
		out, err := c.UnaryCall(ctx, &pb.SimpleRequest{Payload: payload("hello")},
			grpc.Header(&head), grpc.Trailer(&trailer), grpc.OnFinish(func(err error) { outcome = err }))
		if err != nil || string(out.GetPayload().GetBody()) != "hello" || outcome != nil {
			t.Fatalf("%v, %v, OnFinish %v", out, err, outcome)
		}
		for key, md := range map[string]metadata.MD{"head-": head, "trailer-": trailer} {
			if got := md.Get(key + "text"); len(got) != 2 || got[0] != "a" || got[1] != "b" {
				t.Errorf("%stext: %q", key, got)
			}
			if got := md.Get(key + "raw-bin"); len(got) != 1 || got[0] != "\x00\xff=" {
				t.Errorf("%sraw-bin: %q", key, got)
			}
		}
		if len(head.Get("limited")) == 0 {
			t.Error("the server was not told of the deadline")
		}
	})
}

func TestStatusWithDetails(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		var trailer metadata.MD
		ctx := metadata.AppendToOutgoingContext(t.Context(), "echo-why", "so")
		var outcome error
		_, err := c.UnaryCall(ctx, &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Code: 8, Message: "throttled: über"}},
			grpc.Trailer(&trailer), grpc.OnFinish(func(err error) { outcome = err }))
		code(t, err, codes.ResourceExhausted, "throttled: über")
		details := status.Convert(err).Details()
		if len(details) != 1 || details[0].(*errdetails.RetryInfo).GetRetryDelay().GetSeconds() != 7 {
			t.Errorf("details %v", details)
		}
		if got := trailer.Get("trailer-why"); len(got) != 1 || !errors.Is(outcome, err) {
			t.Errorf("trailers %v, OnFinish %v", trailer, outcome)
		}
	})
}

func TestServerStream(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		var in pb.StreamingOutputCallRequest
		for i := range 40 {
			in.ResponseParameters = append(in.ResponseParameters, &pb.ResponseParameters{Size: int32(1 + 100<<10*(i%2))})
		}
		in.ResponseStatus = &pb.EchoStatus{Code: 5, Message: "that was all"}
		s, err := c.StreamingOutputCall(metadata.AppendToOutgoingContext(t.Context(), "echo-a", "b"), &in)
		if err != nil {
			t.Fatal(err)
		}
		if head, err := s.Header(); err != nil || len(head.Get("head-a")) != 1 {
			t.Errorf("head %v, %v", head, err)
		}
		n := 0
		for ; err == nil; n++ {
			var m *pb.StreamingOutputCallResponse
			if m, err = s.Recv(); err == nil && int(m.GetPayload().GetBody()[0]) != n {
				t.Fatalf("message %d came as number %d", m.GetPayload().GetBody()[0], n)
			}
		}
		code(t, err, codes.NotFound, "that was all")
		if n != 41 || len(s.Trailer().Get("trailer-a")) != 1 {
			t.Errorf("%d messages, trailers %v", n-1, s.Trailer())
		}
		if _, again := s.Recv(); status.Code(again) != codes.NotFound {
			t.Errorf("after the end: %v", again)
		}
		if s.Context().Err() == nil {
			t.Error("the stream's context outlives it")
		}
	})
}

func TestClientStream(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		s, err := c.StreamingInputCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		block := strings.Repeat("x", 100<<10)
		for range 50 {
			if err := s.Send(&pb.StreamingInputCallRequest{Payload: payload(block)}); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := s.CloseAndRecv(); err != nil || out.GetAggregatedPayloadSize() != 50*100<<10 {
			t.Errorf("%v, %v", out, err)
		}
		if err := s.CloseSend(); err != nil {
			t.Errorf("closing twice: %v", err)
		}
		code(t, s.Send(&pb.StreamingInputCallRequest{}), codes.Internal, "SendMsg called after CloseSend")
	})
}

// A server that ends early: sending says io.EOF, receiving why.
func TestServerEndsEarly(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		s, err := c.StreamingInputCall(t.Context())
		for err == nil {
			err = s.Send(&pb.StreamingInputCallRequest{Payload: payload("stop")})
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("sending: %v", err)
		}
		_, err = s.CloseAndRecv()
		code(t, err, codes.OutOfRange, "enough")
	})
}

func TestBothWays(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				s, err := c.FullDuplexCall(t.Context(), grpc.MaxCallRecvMsgSize(16<<20))
				if err != nil {
					t.Error(err)
					return
				}
				for i, size := range []int{0, 1, 1<<20 + 1, 10} {
					text := strings.Repeat(fmt.Sprint(i), size)
					if err := s.Send(&pb.StreamingOutputCallRequest{Payload: payload(text)}); err != nil {
						t.Error(err)
					}
					if m, err := s.Recv(); err != nil || string(m.GetPayload().GetBody()) != text {
						t.Errorf("%d bytes: %v", size, err)
					}
				}
				if err := s.CloseSend(); err != nil {
					t.Error(err)
				}
				if _, err := s.Recv(); !errors.Is(err, io.EOF) {
					t.Errorf("at the end: %v", err)
				}
			})
		}
		group.Wait()
	})
}

func TestCancelAndDeadline(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, cancelled chan struct{}) {
		short := pastDeadline(t, c, cancelled)
		_, err := c.UnaryCall(short, &pb.SimpleRequest{})
		code(t, err, codes.DeadlineExceeded, "")

		ctx, cancel := context.WithCancel(t.Context())
		s, err := c.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Header(); err != nil {
			t.Error(err)
		}
		cancel()
		_, err = s.Recv()
		code(t, err, codes.Canceled, "")
		<-cancelled
		_, err = c.UnaryCall(ctx, &pb.SimpleRequest{})
		code(t, err, codes.Canceled, "")
	})
}

// pastDeadline makes a call that ends at the deadline of the context, at both ends. On a busy
// computer, a deadline may pass before the server has seen the call: then it takes a longer one.
func pastDeadline(t *testing.T, c pb.TestServiceClient, cancelled chan struct{}) context.Context {
	t.Helper()
	for limit := 20 * time.Millisecond; ; limit *= 5 {
		short, done := context.WithTimeout(t.Context(), limit)
		t.Cleanup(done)
		_, err := c.UnaryCall(short, &pb.SimpleRequest{FillUsername: true})
		code(t, err, codes.DeadlineExceeded, "")
		<-short.Done() // the server's clock may have been a moment ahead
		select {
		case <-cancelled:
			return short
		case <-time.After(limit):
		}
	}
}

func TestSizes(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		big := &pb.SimpleRequest{Payload: payload(strings.Repeat("x", 5<<20))}
		_, err := c.UnaryCall(t.Context(), big)
		code(t, err, codes.ResourceExhausted, "received message larger than max")
		_, err = c.UnaryCall(t.Context(), big, grpc.MaxCallSendMsgSize(1<<20))
		code(t, err, codes.ResourceExhausted, "trying to send message larger than max")
		out, err := c.UnaryCall(t.Context(), big, grpc.MaxCallRecvMsgSize(6<<20))
		if err != nil || !bytes.Equal(out.GetPayload().GetBody(), big.GetPayload().GetBody()) {
			t.Errorf("%d bytes, %v", len(out.GetPayload().GetBody()), err)
		}
	})
}

func TestBadMetadata(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "echo-text", "über")
		_, err := c.UnaryCall(ctx, &pb.SimpleRequest{})
		code(t, err, codes.Internal, "non-printable")
	})
}

func TestUnimplemented(t *testing.T) {
	each(t, func(t *testing.T, c pb.TestServiceClient, _ chan struct{}) {
		_, err := c.EmptyCall(t.Context(), &pb.Empty{})
		code(t, err, codes.Unimplemented, "EmptyCall")
		s, err := c.HalfDuplexCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Recv()
		code(t, err, codes.Unimplemented, "HalfDuplexCall")
	})
}

// What would silently not happen is refused.
func TestRefusedOptions(t *testing.T) {
	w := connect(t)
	c := pb.NewTestServiceClient(w.conns["Conn"])
	for part, opt := range map[string]grpc.CallOption{
		"json":   grpc.CallContentSubtype("json"),
		"secret": grpc.PerRPCCredentials(insecureCreds{}),
	} {
		called := false
		_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{}, opt, grpc.OnFinish(func(error) { called = true }))
		code(t, err, codes.Unimplemented, part)
		if !called {
			t.Errorf("%s: OnFinish was not called", part)
		}
	}
	if _, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{}, grpc.CallContentSubtype("proto"), grpc.ForceCodecV2(raw{}), grpc.WaitForReady(true), grpc.UseCompressor("gzip")); status.Code(err) == codes.Unimplemented {
		t.Errorf("harmless options: %v", err)
	}
}

type insecureCreds struct{}

func (insecureCreds) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return nil, nil
}
func (insecureCreds) RequireTransportSecurity() bool { return false }

// hosted is a client whose host does as the function says.
func hosted(t *testing.T, serve func(*streamtest.Exchange)) pb.TestServiceClient {
	t.Helper()
	host := streamtest.New(t)
	host.GRPC = serve
	conn := dialHosted(t, Conn{Target: "https://api.example.org", pump: stream.New(host, &call.Calls{})})
	return pb.NewTestServiceClient(conn)
}

func dialHosted(t *testing.T, c Conn) grpc.ClientConnInterface {
	t.Helper()
	return dial(t, grpc.WithChainUnaryInterceptor(c.interceptUnary), grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// What the host refuses is a status and an *sdk.Error.
func TestRefusal(t *testing.T) {
	_, err := hosted(t, nil).UnaryCall(t.Context(), &pb.SimpleRequest{})
	code(t, err, codes.PermissionDenied, "the manifest does not name")
	if sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("%v has the code %s", err, sdk.CodeOf(err))
	}
	for own, want := range map[sdk.Code]codes.Code{
		sdk.NotFound: codes.NotFound, sdk.Invalid: codes.InvalidArgument, sdk.NoCapacity: codes.ResourceExhausted,
		sdk.RateLimited: codes.ResourceExhausted, sdk.Unavailable: codes.Unavailable, sdk.Unsupported: codes.Unimplemented,
		sdk.Internal: codes.Internal, "other": codes.Internal,
	} {
		_, err := hosted(t, func(x *streamtest.Exchange) { x.End(sdk.Event{Error: sdk.Errorf(own, "why")}, nil) }).UnaryCall(t.Context(), &pb.SimpleRequest{})
		code(t, err, want, "why")
		if sdk.CodeOf(err) != own {
			t.Errorf("%v has the code %s", err, sdk.CodeOf(err))
		}
	}
}

// The host's own words about a missed deadline say the same as the guest's.
func TestDeadlineNoticedByHost(t *testing.T) {
	c := hosted(t, func(x *streamtest.Exchange) {
		time.Sleep(time.Duration(x.GRPC.TimeoutSeconds * float64(time.Second)))
		x.End(sdk.Event{Error: sdk.Errorf(sdk.Unavailable, "too late")}, nil)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := c.UnaryCall(ctx, &pb.SimpleRequest{})
	code(t, err, codes.DeadlineExceeded, "")
}

// Answers that no server should give.
func TestWrongAnswers(t *testing.T) {
	empty, err := proto.Marshal(&pb.SimpleResponse{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := proto.Marshal(&spb.Status{Code: 3, Message: "other"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		serve func(*streamtest.Exchange)
		code  codes.Code
		part  string
	}{
		"no message":    {func(x *streamtest.Exchange) { x.End(sdk.Event{}, nil) }, codes.Internal, "no response message"},
		"two messages":  {func(x *streamtest.Exchange) { x.Data(empty); x.Data(empty); <-x.Gone() }, codes.Internal, "another message"},
		"no protobuf":   {func(x *streamtest.Exchange) { x.Data([]byte{0xff}); <-x.Gone() }, codes.Internal, "failed to unmarshal"},
		"late status":   {func(x *streamtest.Exchange) { x.Data(empty); x.End(sdk.Event{Code: 13, Message: "late"}, nil) }, codes.Internal, "late"},
		"bad details":   {func(x *streamtest.Exchange) { x.End(sdk.Event{Code: 9, Message: "plain"}, []byte{0xff}) }, codes.FailedPrecondition, "plain"},
		"wrong details": {func(x *streamtest.Exchange) { x.End(sdk.Event{Code: 9, Message: "plain"}, other) }, codes.FailedPrecondition, "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hosted(t, tc.serve).UnaryCall(t.Context(), &pb.SimpleRequest{})
			code(t, err, tc.code, tc.part)
		})
	}
}

func TestNatively(t *testing.T) {
	err := Conn{Target: "https://api.example.org"}.Invoke(t.Context(), "/a.B/C", &pb.Empty{}, &pb.Empty{})
	if status.Code(err) != codes.Unimplemented || sdk.CodeOf(err) != sdk.Unsupported {
		t.Error(err)
	}
}

// FuzzMetadata sends a pair there and back, and reads what a host may send.
func FuzzMetadata(f *testing.F) {
	f.Add("key", "value")
	f.Add("Key-Bin", "\x00\xff")
	f.Add("raw-bin", "AA==")
	f.Add("k", "\n")
	f.Fuzz(func(t *testing.T, key, value string) {
		decode(map[string][]string{key: {value}})
		sent, err := encode(metadata.Pairs(key, value))
		if err != nil {
			return
		}
		if got := decode(sent).Get(key); len(got) != 1 || got[0] != value {
			t.Errorf("%q: %q became %q", key, value, got)
		}
	})
}
