package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestgrpc"
)

func calls(to road) pb.TestServiceClient {
	return pb.NewTestServiceClient(guestgrpc.Conn{Target: to.grpc})
}

func payload(text string) *pb.Payload { return &pb.Payload{Body: []byte(text)} }

// unary sees an answer with all there is to it, and a failure with its details.
func unary(ctx context.Context, to road) (report, error) {
	var head, trailer metadata.MD
	ctx = metadata.AppendToOutgoingContext(ctx, "x-key", "mine", "raw-bin", "\x00\xff")
	out, err := calls(to).UnaryCall(ctx, &pb.SimpleRequest{Payload: payload("hello")}, grpc.Header(&head), grpc.Trailer(&trailer))
	if err != nil {
		return nil, err
	}
	_, failed := calls(to).UnaryCall(ctx, &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Code: 8, Message: "throttled"}})
	_, refused := pb.NewTestServiceClient(guestgrpc.Conn{Target: "https://elsewhere.example"}).EmptyCall(ctx, &pb.Empty{})
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, late := calls(to).UnaryCall(short, &pb.SimpleRequest{FillUsername: true})
	var reason string
	for _, detail := range status.Convert(failed).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			reason = info.GetReason()
		}
	}
	return report{"body": string(out.GetPayload().GetBody()), "head": head, "trailer": trailer, "raw": head.Get("raw-bin")[0] == "\x00\xff",
		"failed": status.Code(failed).String(), "reason": reason,
		"refused": status.Code(refused).String(), "refused_code": sdk.CodeOf(refused), "late": status.Code(late).String()}, nil
}

// streams goes each of the ways there are.
func streams(ctx context.Context, to road) (report, error) {
	down, err := calls(to).StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{ResponseParameters: []*pb.ResponseParameters{
		{Size: 1}, {Size: 2 << 20}, {Size: 0}}}, grpc.MaxCallRecvMsgSize(8<<20))
	if err != nil {
		return nil, err
	}
	var sizes []int
	for {
		m, err := down.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, len(m.GetPayload().GetBody()))
	}
	up, err := calls(to).StreamingInputCall(ctx)
	if err != nil {
		return nil, err
	}
	for range 10 {
		if err := up.Send(&pb.StreamingInputCallRequest{Payload: payload(strings.Repeat("x", 200<<10))}); err != nil {
			return nil, err
		}
	}
	sum, err := up.CloseAndRecv()
	if err != nil {
		return nil, err
	}
	said, err := talk(ctx, to, 3)
	return report{"sizes": sizes, "sum": sum.GetAggregatedPayloadSize(), "said": said}, err
}

// talk says something, waits for the answer, and so on: with both ends waiting in
// turn, a guest whose host call blocks would hang.
func talk(ctx context.Context, to road, turns int) ([]string, error) {
	both, err := calls(to).FullDuplexCall(ctx)
	if err != nil {
		return nil, err
	}
	var said []string
	for i := range turns {
		if err := both.Send(&pb.StreamingOutputCallRequest{Payload: payload(fmt.Sprint("turn ", i))}); err != nil {
			return nil, err
		}
		m, err := both.Recv()
		if err != nil {
			return nil, err
		}
		said = append(said, string(m.GetPayload().GetBody()))
	}
	if err := both.CloseSend(); err != nil {
		return nil, err
	}
	_, err = both.Recv()
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after the end: %w", err)
	}
	return said, nil
}

// many makes 20 calls, none of which is answered before all have arrived.
func many(ctx context.Context, to road) (report, error) {
	const n = 20
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			ctx := metadata.AppendToOutgoingContext(ctx, "wait-for", fmt.Sprint(n))
			out, err := calls(to).UnaryCall(ctx, &pb.SimpleRequest{Payload: payload(fmt.Sprint(i))})
			if err == nil && string(out.GetPayload().GetBody()) != fmt.Sprint(i) {
				err = fmt.Errorf("call %d got the answer of %s", i, out.GetPayload().GetBody())
			}
			errs[i] = err
		})
	}
	group.Wait()
	return report{"calls": n}, errors.Join(errs...)
}

// interceptors is an SDK: a connection that it makes itself, with interceptors that
// set metadata and repeat what fails in passing.
func interceptors(ctx context.Context, to road) (report, error) {
	attempts := 0
	retry := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		for {
			attempts++
			err := next(metadata.AppendToOutgoingContext(ctx, "attempt", fmt.Sprint(attempts)), method, req, reply, cc, opts...)
			if status.Code(err) != codes.Unavailable {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	conn, err := grpc.NewClient("api.example.org:443", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<20)),
		grpc.WithChainUnaryInterceptor(retry, guestgrpc.UnaryInterceptor(to.grpc)),
		grpc.WithChainStreamInterceptor(guestgrpc.StreamInterceptor(to.grpc)))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := pb.NewTestServiceClient(conn)
	out, err := c.UnaryCall(metadata.AppendToOutgoingContext(ctx, "fail-until", "3"), &pb.SimpleRequest{Payload: payload("at last")})
	if err != nil {
		return nil, err
	}
	_, large := c.UnaryCall(ctx, &pb.SimpleRequest{Payload: payload(strings.Repeat("x", 2<<20))})
	both, err := c.FullDuplexCall(ctx)
	if err != nil {
		return nil, err
	}
	if err := both.CloseSend(); err != nil {
		return nil, err
	}
	_, end := both.Recv()
	return report{"body": string(out.GetPayload().GetBody()), "attempts": attempts, "large": status.Code(large).String(), "end": fmt.Sprint(end)}, nil
}

// latency measures calls one after the other, and how late a sleeper wakes while a
// stream is open.
func latency(ctx context.Context, to road) (report, error) {
	c := calls(to)
	const n = 200
	var start time.Time
	for i := range n + 1 {
		if i == 1 { // the first connects
			start = time.Now()
		}
		if _, err := c.UnaryCall(ctx, &pb.SimpleRequest{Payload: payload("x")}); err != nil {
			return nil, err
		}
	}
	each := milliseconds(start) / n
	both, err := c.FullDuplexCall(ctx)
	if err != nil {
		return nil, err
	}
	const naps = 20
	start = time.Now()
	for range naps {
		time.Sleep(5 * time.Millisecond)
	}
	late := milliseconds(start)/naps - 5
	return report{"unary_ms": each, "late_ms": late}, both.CloseSend()
}
